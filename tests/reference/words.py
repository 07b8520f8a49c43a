"""Schemas in words: the type of a field, its default, what it may hold. Pure."""

import json
from collections.abc import Iterator, Sequence

from nestor.api.base import DNS_NAME
from nestor.api.schema import Schema

DATE = "date-time"
QUANTITY = "quantity"
_PLURALS = {QUANTITY: "quantities", "any object": "objects"}


def write_type(node: Schema) -> str:
    """The type of a field, as `list of strings`."""
    if node.get("x-kubernetes-int-or-string"):
        return QUANTITY
    kind = node.get("type", "any")
    if kind == "array":
        item = write_type(node["items"])
        return f"list of {_PLURALS.get(item, f'{item}s')}"
    if kind == "object":
        if "additionalProperties" in node:
            inner = write_type(node["additionalProperties"])
            return f"map to {inner}"
        return "object" if "properties" in node else "any object"
    return "time" if node.get("format") == DATE else str(kind)


def write_default(node: Schema) -> str:
    """The default as YAML, in backticks; empty if the API server fills none in."""
    if "default" not in node:
        return ""
    value = node["default"]
    return f"`{value if value and isinstance(value, str) else json.dumps(value)}`"


def write_limits(node: Schema) -> Iterator[str]:
    """Phrases that say what a value may be, such as `at most 64 entries`."""
    if write_type(node) == QUANTITY:
        return
    if "enum" in node:
        yield f"one of {join([f'`{item}`' for item in node['enum']], 'or')}"
    yield from _write_range(node.get("minimum"), node.get("maximum"), "")
    yield from _write_range(node.get("minItems"), node.get("maxItems"), "entries")
    yield from _write_range(node.get("minProperties"), node.get("maxProperties"), "entries")
    if "enum" not in node:
        yield from _write_range(
            node.get("minLength") if node.get("minLength", 0) > 1 else None, node.get("maxLength"), "characters"
        )
    if node.get("pattern") == DNS_NAME:
        yield "a Kubernetes name (RFC 1123)"
    elif "pattern" in node:
        yield f"matches `{node['pattern']}`"
    if node.get("x-kubernetes-list-type") == "map":
        yield f"entries are keyed by {join([f'`{key}`' for key in node['x-kubernetes-list-map-keys']], 'and')}"


def list_rules(node: Schema) -> list[str]:
    """What the CEL rules of a node say."""
    return [item["message"] for item in node.get("x-kubernetes-validations", ())]


def is_immutable(node: Schema) -> bool:
    """Whether the field can only be set at creation."""
    return any(item["rule"] == "self == oldSelf" for item in node.get("x-kubernetes-validations", ()))


def escape(text: str) -> str:
    """The text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def join(words: Sequence[str], last: str) -> str:
    """`a`, `b` or `c`."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def _write_range(least: int | None, most: int | None, unit: str) -> Iterator[str]:
    after = f" {unit}" if unit else ""
    if least and most is not None:
        yield f"{least} to {most:,}{after}" if least != most else f"exactly {most:,}{after}"
    elif most is not None:
        yield f"{'at most ' if unit else '0 to ' if least == 0 else 'at most '}{most:,}{after}"
    elif least is not None:
        yield f"at least {least}{after}"
