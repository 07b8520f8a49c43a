"""Dataclasses that cost a process little when it starts.

`dataclasses.dataclass` writes the text of up to six functions for each class and compiles it: for the 200 classes of a process, a
quarter of the time until it runs. Here, only `__init__` is made so, and all classes share the others.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import reprlib
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def dataclass(kind: type[T], /) -> type[T]: ...


@overload
def dataclass(*, frozen: bool = False, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(kind: type[T] | None = None, /, *, frozen: bool = False, kw_only: bool = False) -> Any:
    """Like `dataclasses.dataclass`; `fields`, `replace` and other functions of that module work with these classes, too.

    With `frozen`, a field that has a value cannot be set again.
    """
    make = functools.partial(_make, frozen=frozen, kw_only=kw_only)
    return make if kind is None else make(kind)


def _make(kind: type[T], *, frozen: bool, kw_only: bool) -> type[T]:
    own = dict(vars(kind))
    if not kind.__doc__:
        kind.__doc__ = kind.__name__  # otherwise `dataclasses` would write the signature of `__init__`, which takes long
    for name, shared in _SHARED.items():
        if name not in own:
            setattr(kind, name, shared)
    # Python itself takes the hash from a class that says what is equal and nothing of hashes.
    if own.get("__hash__") is None and ("__hash__" not in own or "__eq__" in own):
        setattr(kind, "__hash__", _hash if frozen else None)  # noqa: B010 - a type checker knows better than to allow that
    if frozen:
        setattr(kind, "__setattr__", _set_once)  # noqa: B010 - the same
    return dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(kind)


@functools.cache
def _compared(kind: Any) -> Callable[[Any], Any]:
    """What reads the values of an instance by which it is compared."""
    names = [own.name for own in dataclasses.fields(kind) if own.compare]
    return operator.attrgetter(*names) if names else lambda _: ()


def _equals(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    read = _compared(self.__class__)
    return read(self) == read(other)


def _hash(self: Any) -> int:
    return hash((self.__class__, _compared(self.__class__)(self)))


@reprlib.recursive_repr()
def _show(self: Any) -> str:
    shown = (f"{own.name}={getattr(self, own.name)!r}" for own in dataclasses.fields(self) if own.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _set_once(self: Any, name: str, value: Any) -> None:
    if name in vars(self):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


_SHARED = {"__eq__": _equals, "__repr__": _show}
