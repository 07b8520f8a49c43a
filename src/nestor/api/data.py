"""Parts of resources as plain data: dataclasses whose fields say what they mean and what is allowed; from JSON and to it. Pure.

Pydantic validates them for whoever reads what users write, and makes their schemas. A syncer, of which every job has one, reads
what the API server has checked by those schemas; it does so by `read`, without Pydantic, which takes a fifth of the memory of
such a process.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, dataclass_transform

from nestor.api.faults import name_field, show

T = TypeVar("T")


def to_camel(name: str) -> str:
    """How a field is written in YAML."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


class Limits:
    """In an `Annotated` type: what Pydantic checks of a value, by the names of its `Field`. Pydantic is imported when it asks.

    `check`: returns the value or raises ValueError. `schema`: how the type is described instead.
    """

    __is_annotated_types_grouped_metadata__ = True  # by which Pydantic knows that it is to look inside

    def __init__(self, *, check: Callable[[Any], Any] | None = None, schema: dict[str, Any] | None = None, **limits: Any) -> None:
        self._check, self._schema, self._limits = check, schema, limits

    def __iter__(self) -> Iterator[Any]:
        from pydantic import BeforeValidator, Field, WithJsonSchema  # noqa: PLC0415 - the syncer has none

        if self._limits:
            found = Field(**self._limits)
            yield from found.metadata
            found.metadata = []
            yield found
        if self._check is not None:
            yield BeforeValidator(self._check)
        if self._schema is not None:
            yield WithJsonSchema(self._schema)


def field(
    *,
    description: str,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    written: str | None = None,  # not `alias`: by that name, type checkers would want it of whoever makes a part
    **limits: Any,
) -> Any:
    """A field of a part, as Pydantic's `Field`. A list is a default by `default_factory`. `written`: its name in YAML, if that
    is not its own in camelCase.
    """
    metadata = {"description": description, **limits} | ({"alias": written} if written else {})
    if default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=default_factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def part(extra: dict[str, Any] | None = None) -> Callable[[type[T]], type[T]]:
    """A part of a resource: a frozen dataclass, snake_case in Python, camelCase in YAML. Pydantic ignores unknown fields.

    `extra`: of its schema, such as CEL rules; of a part that extends another one, that one's.
    """

    def make(kind: type[T]) -> type[T]:
        made = dataclasses.dataclass(frozen=True, kw_only=True)(kind)
        inherited = getattr(
            kind, "__pydantic_config__", {"alias_generator": to_camel, "populate_by_name": True, "extra": "ignore"}
        )
        made.__pydantic_config__ = inherited | ({"json_schema_extra": extra} if extra else {})  # type: ignore[attr-defined]
        return made

    return make


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
        # Python may give the kinds in the order in which another union of them was made first.
        _check(is_right, path, f"must be {' or '.join(said for item, said in _KINDS.items() if item in known)}")
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
