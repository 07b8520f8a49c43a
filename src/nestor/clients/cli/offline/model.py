"""A resource against the Pydantic models that its CRD is made of, taken strictly: what they do not know is a fault. Pure."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import ErrorDetails

from nestor.api import faults
from nestor.api.crd import RESOURCES, build_crd
from nestor.api.schema import Schema

BY_KIND = {resource.kind: resource for resource in RESOURCES}
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


def check(content: dict[str, Any]) -> list[str]:
    """Sentences that name their fields."""
    kind = content["kind"]
    try:
        # As JSON: in Python's strict mode, a dictionary is no dataclass.
        _build_model(kind).model_validate_json(json.dumps(content), strict=True, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as error:
        return list(dict.fromkeys(_tell(fault, kind) for fault in error.errors(include_url=False)))
    return []


@cache
def _build_model(kind: str) -> type[BaseModel]:
    fields: dict[str, Any] = {"apiVersion": str, "kind": str, "metadata": dict[str, Any], "spec": BY_KIND[kind].spec}
    return create_model(kind, **fields)


@cache
def root_schema(kind: str) -> Schema:
    """The schema of the kind's CRD, the very one that `make crds` writes."""
    schema: Schema = build_crd(BY_KIND[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _tell(fault: ErrorDetails, kind: str) -> str:
    if fault["type"] not in _UNKNOWN:
        return faults.tell(fault, "")
    *above, _ = path = fault["loc"]
    schema = root_schema(kind)
    for part in above:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
    return f"`{faults.name_field('', path)}` is unknown here; known: {', '.join(schema['properties'])}"
