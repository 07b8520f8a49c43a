"""Compares CustomResourceDefinitions by the fields that they have: helm installs them once and never updates them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestor.api.crd import Resource, build_crd
from nestor.api.schema import Schema

UPDATE_COMMAND = "kubectl apply --server-side --force-conflicts -f charts/nestor/crds/"
"""In a checkout of the version that is to run."""
_SHOWN = 3


def compare(resource: Resource, crd: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The fields that a definition lacks, and those that this version does not know, as paths such as `spec.app.image`."""
    wanted, found = _list_fields(_schema_of(build_crd(resource))), _list_fields(_schema_of(crd))
    return sorted(wanted - found), sorted(found - wanted)


def describe(fields: Iterable[str]) -> str:
    """The first few; fields below a missing field are left out."""
    known = list(fields)
    tops = [field for field in known if not any(field.startswith(f"{other}.") for other in known)]
    shown = ", ".join(f"`{field}`" for field in tops[:_SHOWN])
    return f"{shown} and {len(tops) - _SHOWN} more" if len(tops) > _SHOWN else shown


def _schema_of(crd: dict[str, Any]) -> Schema:
    versions = [item for item in crd["spec"]["versions"] if item.get("storage")] or crd["spec"]["versions"]
    schema: Schema = ((versions[0].get("schema") or {}).get("openAPIV3Schema")) or {}
    return schema


def _list_fields(schema: Schema, path: str = "") -> set[str]:
    """The paths of all fields that a schema knows."""
    found = set()
    for key, inner in (schema.get("properties") or {}).items():
        where = f"{path}.{key}" if path else key
        found |= {where} | _list_fields(inner, where)
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found |= _list_fields(inner, path)
    return found
