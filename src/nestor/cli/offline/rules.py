"""The CEL rules of a CRD's schema, evaluated by a CEL library: the very rules that the API server has, none written twice."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from nestor.cli.offline.faults import Fault, child
from nestor.cli.offline.structure import Schema

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


def check(value: Any, schema: Schema, path: str) -> Iterator[Fault]:
    """The rules that an object (with its defaults, structurally good) breaks when it is created."""
    for rule in schema.get(VALIDATIONS) or ():
        if "oldSelf" not in rule["rule"] and not _holds(rule["rule"], value):
            yield Fault(path, rule["message"])
    if isinstance(value, dict):
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in value.items():
            inner = properties.get(key) or (extra if isinstance(extra, dict) else None)
            if inner:
                yield from check(item, inner, child(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from check(item, schema.get("items") or {}, child(path, index))


def _holds(rule: str, value: Any) -> bool:
    """A rule that cannot be evaluated does not hold, as in an API server."""
    import cel  # noqa: PLC0415 - takes a tenth of every command's start, and few commands need it

    try:
        return bool(_compile(rule).execute(cel.Context(variables={"self": value}, functions=FUNCTIONS)))
    except (KeyError, TypeError, ValueError):
        return False


@cache
def _compile(rule: str) -> cel.Program:
    import cel  # noqa: PLC0415 - as above

    return cel.compile(rule)
