"""A structural schema of a CRD against an object, as an API server checks it: defaults, unknown fields, types, limits. Pure."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from nestor.cli.offline.faults import Fault, child, show

Schema = dict[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
_WORDS = {
    "object": "a dictionary",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


def with_defaults(value: Any, schema: Schema) -> Any:
    """What the API server would store: fields that are null count as left out, left-out ones get their default."""
    if isinstance(value, dict) and "properties" in schema:
        result = dict(value)
        for key, inner in schema["properties"].items():
            if key in result and result[key] is None and not inner.get("nullable"):
                del result[key]
            if key not in result and "default" in inner:
                result[key] = copy.deepcopy(inner["default"])
            if key in result:
                result[key] = with_defaults(result[key], inner)
        return result
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        inner = schema["additionalProperties"]
        return {key: with_defaults(item, inner) for key, item in value.items() if item is not None or inner.get("nullable")}
    if isinstance(value, list) and "items" in schema:
        return [with_defaults(item, schema["items"]) for item in value]
    return value


def check(value: Any, schema: Schema, path: str) -> Iterator[Fault]:
    """Everything that is wrong with `value`, fields inside of it included."""
    wrong = _check_type(value, schema)
    if wrong:
        yield Fault(path, wrong)
        return
    yield from _check_limits(value, schema, path)
    if isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list):
        yield from _check_list(value, schema, path)


def _check_type(value: Any, schema: Schema) -> str | None:
    if schema.get(INT_OR_STRING):
        # It has no `type`, so that null passes as well.
        is_good = value is None or isinstance(value, str) or _is_integer(value)
        return None if is_good else f"must be an integer or a string, not {show(value)}"
    kind = schema.get("type")
    if kind is None or (value is None and schema.get("nullable")):
        return None
    is_good = {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": _is_integer(value),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
    }[kind]
    if is_good:
        return None
    advice = ": put it in quotes" if kind == "string" and isinstance(value, int | float) else ""
    return f"must be {_WORDS[kind]}, not {show(value)}{advice}"


def _is_integer(value: Any) -> bool:
    """JSON knows one kind of numbers: 3.0 is an integer there."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _check_limits(value: Any, schema: Schema, path: str) -> Iterator[Fault]:
    if "enum" in schema and value not in schema["enum"]:
        yield Fault(path, f"must be one of {', '.join(repr(item) for item in schema['enum'])}, not {show(value)}")
    if isinstance(value, str):
        yield from _check_length(len(value), schema, path, "Length", "characters")
        if "pattern" in schema and not _pattern(schema["pattern"]).search(value):
            yield Fault(path, f"must match the pattern {schema['pattern']}, which {show(value)} does not")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            yield Fault(path, f"must be greater than or equal to {schema['minimum']}, not {show(value)}")
        if value > schema.get("maximum", value):
            yield Fault(path, f"must be less than or equal to {schema['maximum']}, not {show(value)}")
    elif isinstance(value, list):
        yield from _check_length(len(value), schema, path, "Items", "items")
    elif isinstance(value, dict):
        yield from _check_length(len(value), schema, path, "Properties", "entries")


def _check_length(length: int, schema: Schema, path: str, name: str, unit: str) -> Iterator[Fault]:
    least, most = schema.get(f"min{name}", 0), schema.get(f"max{name}", length)
    if length < least:
        yield Fault(path, f"must have at least {least} {unit}, not {length}")
    if length > most:
        yield Fault(path, f"must have at most {most} {unit}, not {length}")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    r"""Go's `$` is the end of the text, Python's also stands before a last newline."""
    return re.compile(re.sub(r"(?<!\\)\$(?=$|\)|\|)", r"\\Z", text), re.ASCII)


def _check_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[Fault]:
    properties: Schema = schema.get("properties") or {}
    for key in schema.get("required") or ():
        if key not in value:
            yield Fault(child(path, key), "must be set")
    extra = schema.get("additionalProperties")
    for key, item in value.items():
        if key in properties:
            yield from check(item, properties[key], child(path, key))
        elif isinstance(extra, dict):
            yield from check(item, extra, child(path, key))
        elif not schema.get(PRESERVE) and not schema.get(INT_OR_STRING):
            yield Fault(child(path, key), f"is unknown here; known: {', '.join(properties) or 'nothing'}")


def _check_list(value: list[Any], schema: Schema, path: str) -> Iterator[Fault]:
    for index, item in enumerate(value):
        yield from check(item, schema.get("items") or {}, child(path, index))
    keys = schema.get("x-kubernetes-list-map-keys") if schema.get("x-kubernetes-list-type") == "map" else None
    if not keys:
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        mark = json.dumps([item.get(key) if isinstance(item, dict) else item for key in keys])
        if mark in seen:
            yield Fault(
                child(path, index),
                f"has the same {' and '.join(f'`{key}`' for key in keys)} as item {seen[mark]}; they must be unique",
            )
        seen.setdefault(mark, index)
