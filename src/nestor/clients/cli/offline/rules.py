"""A resource by its CRD: the Pydantic models that it is made of, and its CEL rules, none of them written twice. Pure."""

from __future__ import annotations

import copy
import ipaddress
import json
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import ErrorDetails

from nestor.api import faults
from nestor.api.appdef_keys import suggest
from nestor.api.crd import RESOURCES, build_crd
from nestor.api.faults import name_field
from nestor.api.schema import Schema
from nestor.api.times import parse_duration

if TYPE_CHECKING:
    import cel

BY_KIND = {resource.kind: resource for resource in RESOURCES}
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
VALIDATIONS = "x-kubernetes-validations"


def check_model(content: dict[str, Any]) -> list[str]:
    """Sentences that name their fields."""
    kind = content["kind"]
    try:
        # As JSON: in Python's strict mode, a dictionary is no dataclass.
        _build_model(kind).model_validate_json(json.dumps(content), strict=True, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as error:
        return list(dict.fromkeys(_tell_fault(fault, kind) for fault in error.errors(include_url=False)))
    return []


@cache
def _build_model(kind: str) -> type[BaseModel]:
    fields: dict[str, Any] = {"apiVersion": str, "kind": str, "metadata": dict[str, Any], "spec": BY_KIND[kind].spec}
    return create_model(kind, **fields)


@cache
def root_schema(kind: str) -> Schema:
    """The schema of the kind's CRD, the very one that `make crds` writes, without the status, which users do not write."""
    schema: Schema = build_crd(BY_KIND[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"].pop("status", None)
    return schema


def _tell_fault(fault: ErrorDetails, kind: str) -> str:
    if fault["type"] == "int_type" and (seconds := _read_seconds(fault["loc"][-1], fault["input"])):
        return f"{faults.tell(fault, '')}, not {faults.show(fault['input'])}: did you mean {seconds}?"
    if fault["type"] not in _UNKNOWN:
        return faults.tell(fault, "")
    *above, last = path = fault["loc"]
    schema = root_schema(kind)
    for part in above:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
    more = suggest(str(last), schema["properties"], "`") or f"; known: {', '.join(schema['properties'])}"
    return f"`{faults.name_field('', path)}` is unknown here{more}"


def _read_seconds(field: str | int, value: Any) -> int | None:
    """What a number in quotes means, or a duration such as `1h` for a field of seconds."""
    if not isinstance(value, str) or not (value.isdigit() or str(field).endswith("Seconds")):
        return None
    try:
        return round(parse_duration(value))
    except (ValueError, OverflowError):
        return None


def _is_cidr(text: str) -> bool:
    """`isCIDR` of Kubernetes' CEL library: an address with a prefix length, host bits allowed."""
    address, _, length = text.partition("/")
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return length.isdigit() and not (len(length) > 1 and length.startswith("0")) and "%" not in address


FUNCTIONS = {"isCIDR": _is_cidr}
"""What Kubernetes adds to CEL, as far as our rules use it."""


def with_defaults(value: Any, schema: Schema) -> Any:
    """What the rules are about: fields that are null count as left out, left-out ones get their default."""
    if isinstance(value, dict) and "properties" in schema:
        given = {key: item for key, item in value.items() if item is not None or key not in schema["properties"]}
        for key, inner in schema["properties"].items():
            if key in given or "default" in inner:
                given[key] = with_defaults(given.get(key, copy.deepcopy(inner.get("default"))), inner)
        return given
    if isinstance(value, dict) and (inner := schema.get("additionalProperties")):
        return {key: with_defaults(item, inner) for key, item in value.items() if item is not None}
    if isinstance(value, list) and "items" in schema:
        return [with_defaults(item, schema["items"]) for item in value]
    return value


def check_rules(value: Any, schema: Schema, path: str) -> Iterator[str]:
    """The rules that an object (with its defaults, and of its model's form) breaks when it is created, as sentences."""
    for rule in schema.get(VALIDATIONS) or ():
        if "oldSelf" not in rule["rule"] and not _holds(rule["rule"], value):
            yield _tell_rule(path, rule["message"])
    if isinstance(value, dict):
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in value.items():
            if inner := properties.get(key) or extra:
                yield from check_rules(item, inner, name_field(path, [key]))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from check_rules(item, schema.get("items") or {}, name_field(path, [index]))


def _tell_rule(path: str, message: str) -> str:
    if not path:
        return message
    return f"`{path}` {message}" if message.startswith("must ") else f"`{path}`: {message}"


def _holds(rule: str, value: Any) -> bool:
    """A rule that cannot be evaluated does not hold, as in an API server."""
    import cel  # noqa: PLC0415 - takes a tenth of every command's start, and few commands need it

    try:
        return bool(_compile(rule).execute(cel.Context(variables={"self": value}, functions=FUNCTIONS)))
    except (KeyError, RuntimeError, TypeError, ValueError):
        return False


@cache
def _compile(rule: str) -> cel.Program:
    import cel  # noqa: PLC0415 - as above

    return cel.compile(rule)
