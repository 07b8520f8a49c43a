"""The CEL rules of a CRD's schema, evaluated by a CEL library: the very rules that the API server has, none written twice."""

from __future__ import annotations

import copy
import ipaddress
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from nestor.api.faults import name_field
from nestor.api.schema import Schema

if TYPE_CHECKING:
    import cel

VALIDATIONS = "x-kubernetes-validations"


def _is_cidr(text: str) -> bool:
    """`isCIDR` of Kubernetes' CEL library: an address with a prefix length, host bits allowed."""
    address, _, length = text.partition("/")
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return length.isdigit() and not (len(length) > 1 and length.startswith("0")) and "%" not in address


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


FUNCTIONS = {"isCIDR": _is_cidr, "isIP": _is_ip}
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


def check(value: Any, schema: Schema, path: str) -> Iterator[str]:
    """The rules that an object (with its defaults, and of its model's form) breaks when it is created, as sentences."""
    for rule in schema.get(VALIDATIONS) or ():
        if "oldSelf" not in rule["rule"] and not _holds(rule["rule"], value):
            yield _tell(path, rule["message"])
    if isinstance(value, dict):
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in value.items():
            if inner := properties.get(key) or extra:
                yield from check(item, inner, name_field(path, [key]))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from check(item, schema.get("items") or {}, name_field(path, [index]))


def _tell(path: str, message: str) -> str:
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
