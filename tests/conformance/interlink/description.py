"""The protocol's description: what it says for one hop, and whether a message is as it says."""

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from nestor.api.backend_kinds import Hop
from nestor.api.objects import Object

PATH = Path(__file__).parents[3] / "docs" / "interlink.openapi.yaml"
_HOP = "x-interlink-hop"


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


def find_faults(schema: Object, value: Any) -> list[str]:
    """Where a message is not as the schema says; empty if it is."""
    return [f"{fault.instance_path}: {fault.message}" for fault in _build_validator(json.dumps(schema)).iter_errors(value)]


@functools.cache
def _build_validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(schema) | {"components": load()["components"]})


def _prune(part: Any, hop: Hop, others: set[str]) -> Any:
    if isinstance(part, dict):
        kept = {key: item for key, item in part.items() if not isinstance(item, dict) or item.get(_HOP, hop) == hop}
        return {key: _prune(item, hop, others) for key, item in kept.items()}
    if isinstance(part, list):
        return [_prune(item, hop, others) for item in part if not isinstance(item, dict) or item.get("$ref") not in others]
    return part
