"""The protocol's description: what it says for one hop, and whether a message is as it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from nestor.overflow.interlink.settings import Hop

Object = dict[str, Any]

PATH = Path(__file__).parents[3] / "docs" / "interlink.openapi.yaml"
_HOP = "x-interlink-hop"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
}


def load(hop: Hop | None = None) -> Object:
    """The description; with `hop`, without the operations and schemas of the other one."""
    document: Object = yaml.safe_load(PATH.read_text())
    if hop is None:
        return document
    schemas = document["components"]["schemas"]
    others = {f"#/components/schemas/{name}" for name, item in schemas.items() if item.get(_HOP, hop) != hop}
    result: Object = _prune(document, hop, others)
    result["paths"] = {path: item for path, item in result["paths"].items() if item}
    return result


def find_faults(document: Object, schema: Object, value: Any, where: str = "$") -> list[str]:
    """Where a message is not as the schema says; empty if it is. Knows the keywords that the description uses, and no others."""
    return list(_check(document, schema, value, where))


def _prune(part: Any, hop: Hop, others: set[str]) -> Any:
    if isinstance(part, dict):
        kept = {key: item for key, item in part.items() if not isinstance(item, dict) or item.get(_HOP, hop) == hop}
        return {key: _prune(item, hop, others) for key, item in kept.items()}
    if isinstance(part, list):
        return [_prune(item, hop, others) for item in part if not isinstance(item, dict) or item.get("$ref") not in others]
    return part


def _check(document: Object, schema: Object, value: Any, where: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "oneOf" in schema:
        fits = [item for item in schema["oneOf"] if not find_faults(document, item, value, where)]
        if len(fits) != 1:
            yield f"{where}: fits {len(fits)} of the alternatives"
        return
    kinds = schema.get("type", [])
    if kinds and not _is_any(value, kinds if isinstance(kinds, list) else [kinds]):
        yield f"{where}: must be {kinds}, is {value!r}"
    elif isinstance(value, dict):
        yield from _check_object(document, schema, value, where)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: is too short"
        for index, item in enumerate(value):
            yield from _check(document, schema.get("items", {}), item, f"{where}[{index}]")
    else:
        yield from _check_scalar(schema, value, where)


def _check_scalar(schema: Object, value: Any, where: str) -> Iterator[str]:
    if "const" in schema and value != schema["const"]:
        yield f"{where}: must be {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: must be one of {schema['enum']}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: must match {schema['pattern']}"
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where}: is out of range"


def _check_object(document: Object, schema: Object, value: Object, where: str) -> Iterator[str]:
    for name in schema.get("required", []):
        if name not in value:
            yield f"{where}.{name}: is missing"
    known, further = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, item in value.items():
        if name not in known and further is False:
            yield f"{where}.{name}: is not known"
            continue
        yield from _check(document, known.get(name, further), item, f"{where}.{name}")


def _is_any(value: Any, kinds: list[str]) -> bool:
    return any(isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds)
