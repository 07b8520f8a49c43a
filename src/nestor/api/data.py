"""Parts of resources from JSON and to it, without Pydantic. Pure."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from nestor.api.faults import name_field, show
from nestor.api.parts import to_camel

T = TypeVar("T")
Path = tuple[str | int, ...]

_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class Unreadable(ValueError):
    """A value is not what the part's fields say. The message names the field."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(f"`{name_field('', path)}` {fault}" if path else f"it {fault}")


def read(kind: type[T], value: object, unknown: list[str] | None = None) -> T:
    """A part from JSON that the API server has checked by its schema: only types are looked at.

    A field that is missing has its default. One that this version does not know is left out; its path is added to `unknown`.
    Raises `Unreadable`: a wrong type, a missing field without a default, a word that this version does not know.
    """
    ignored: list[Path] = []
    found: T = _read(kind, value, (), ignored)
    if unknown is not None:
        unknown += (name_field("", path) for path in ignored)
    return found


def trim(kind: type, value: object) -> dict[str, Any]:
    """JSON as it is given, without what is null and what this version does not know. Raises `Unreadable` as `read` does."""
    read(kind, value)
    found: dict[str, Any] = _trim(kind, value)
    return found


def write(item: Any) -> dict[str, Any]:
    """A part as JSON, without what is not set."""
    known = _list_fields(item.__class__)
    return {alias: _write(value) for name, (alias, _) in known.items() if (value := getattr(item, name)) is not None}


def write_changed(item: Any) -> dict[str, Any]:
    """A part as JSON, without what is as by default."""
    found = {}
    for own in dataclasses.fields(item):
        if own.metadata and (value := getattr(item, own.name)) != _find_default(own):
            found[name_in_yaml(own)] = _write(value, write_changed)
    return found


def list_names(kind: type) -> list[str]:
    """The fields of a part, by their names in Python."""
    return list(_list_fields(kind))


def name_in_yaml(own: dataclasses.Field[Any]) -> str:
    """How a field of a part is written."""
    found: str = own.metadata.get("alias") or to_camel(own.name)
    return found


@functools.cache
def _list_fields(kind: Any) -> dict[str, tuple[str, Any]]:
    """By name: how a field is written, and its type. What has no description is Python's alone."""
    hints = typing.get_type_hints(kind)
    return {own.name: (name_in_yaml(own), hints[own.name]) for own in dataclasses.fields(kind) if own.metadata}


def _find_default(own: dataclasses.Field[Any]) -> Any:
    return own.default if own.default_factory is dataclasses.MISSING else own.default_factory()


def _read(kind: Any, value: Any, path: Path, ignored: list[Path]) -> Any:
    kinds = _list_kinds(kind)
    if value is None and type(None) in kinds:
        return None
    kind, *others = [item for item in kinds if item is not type(None)]
    if dataclasses.is_dataclass(kind):
        return _read_part(kind, value, path, ignored)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        _check(value in inner, path, f"is {show(value)}, and may be {' or '.join(map(repr, inner))}")
    elif origin is list:
        _check(isinstance(value, list), path, "must be a list")
        return [_read(inner[0], item, (*path, index), ignored) for index, item in enumerate(value)]
    elif origin is dict:
        _check(isinstance(value, dict), path, "must be an object")
        return {key: _read(inner[1], item, (*path, key), ignored) for key, item in value.items()}
    else:
        known = (kind, *others)
        is_right = isinstance(value, known) and (bool in known or not isinstance(value, bool))  # to Python, true is a number
        _check(is_right, path, f"must be {' or '.join(_KINDS[item] for item in known)}")
    return value


def _list_kinds(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else (kind,)


def _read_part(kind: Any, value: Any, path: Path, ignored: list[Path]) -> Any:
    _check(isinstance(value, dict), path, "must be an object")
    known = _list_fields(kind)
    ignored += ((*path, key) for key in value.keys() - {alias for alias, _ in known.values()})
    for own in dataclasses.fields(kind):
        is_there = not own.metadata or name_in_yaml(own) in value or _find_default(own) is not dataclasses.MISSING
        _check(is_there, (*path, name_in_yaml(own)), "is missing")
    found = {name: _read(of, value[alias], (*path, alias), ignored) for name, (alias, of) in known.items() if alias in value}
    return kind(**found)


def _check(is_right: bool, path: Path, fault: str) -> None:
    if not is_right:
        raise Unreadable(path, fault)


def _trim(kind: Any, value: Any) -> Any:
    kind = _list_kinds(kind)[0]
    if isinstance(value, dict) and dataclasses.is_dataclass(kind):
        known = dict(_list_fields(typing.cast(Any, kind)).values())
        return {key: _trim(known[key], item) for key, item in value.items() if key in known and item is not None}
    if isinstance(value, list):
        return [_trim(typing.get_args(kind)[0], item) for item in value]
    return value


def _write(value: Any, part: Callable[[Any], Any] = write) -> Any:
    if dataclasses.is_dataclass(value):
        return part(value)
    if isinstance(value, list | tuple):
        return [_write(item, part) for item in value]
    return dict(value) if isinstance(value, dict) else value
