"""Parts of resources as plain data: dataclasses whose fields say what they mean and what is allowed.

Pydantic validates them for whoever reads what users write, and makes their schemas. A syncer, of which every job has one, reads
what the API server has checked by those schemas; it does so without Pydantic (`nestor.api.data`), which takes a fifth of the
memory of such a process.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, dataclass_transform

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
