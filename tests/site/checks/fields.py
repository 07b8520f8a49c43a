"""Which fields our resources and the chart's values have."""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from nestor.api import labels
from nestor.api.crd import RESOURCES, Resource, build_crd
from tests.site.checks.files import ROOT

Schema = dict[str, Any]
_FILTER = re.compile(r"\[[^\]]*\]")
_KEY = re.compile(r"(?:[a-z0-9-]+\.)?nestor\.dev/[A-Za-z0-9-]+")
_OWN_VERSIONS = {"v1alpha1"}


@functools.cache
def names_of_kinds() -> dict[str, Resource]:
    """Our resources by each name that kubectl takes."""
    return {
        f"{name}{suffix}": resource
        for resource in RESOURCES
        for name in (resource.plural, resource.kind.lower(), resource.short, resource.kind)
        for suffix in ("", f".{labels.GROUP}")
    }


@functools.cache
def schema_of(kind: str) -> Schema:
    """The schema of a kind's objects."""
    (resource,) = [item for item in RESOURCES if item.kind == kind]
    found: Schema = build_crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@functools.cache
def values_schema() -> Schema:
    """The schema of the chart's values."""
    found: Schema = json.loads((ROOT / "charts/nestor/values.schema.json").read_text())
    return found


def find_unknown(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Paths of fields of a value that a schema does not know."""
    if isinstance(value, list):
        if schema.get("type", "array") != "array":
            yield path
        for item in value:
            yield from find_unknown(item, schema.get("items") or {}, f"{path}[]")
        return
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    known, others = schema.get("properties"), schema.get("additionalProperties")
    for key, item in value.items():
        if known and key in known:
            yield from find_unknown(item, known[key], f"{path}.{key}".strip("."))
        elif isinstance(others, dict):
            yield from find_unknown(item, others, f"{path}.{key}".strip("."))
        elif known is not None:
            yield f"{path}.{key}".strip(".")


def has_path(schema: Schema, path: str) -> bool:
    """Whether a path such as `.spec.overflow.mode` exists; filters and indexes in brackets are left out."""
    for name in [part for part in _FILTER.sub("", path).replace("\\.", "~").split(".") if part]:
        while "items" in schema:
            schema = schema["items"]
        if name in (schema.get("properties") or {}):
            schema = schema["properties"][name]
        elif isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
        else:
            is_free = schema.get("type") == "object" and "properties" not in schema
            return is_free or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return True


def find_unknown_keys(text: str) -> Iterator[str]:
    """Labels and annotations with our domain that we do not have."""
    known = {str(value) for name, value in vars(labels).items() if name.isupper() and isinstance(value, str)}
    for key in _KEY.findall(text):
        if key not in known and key.rpartition("/")[2] not in _OWN_VERSIONS:
            yield key
