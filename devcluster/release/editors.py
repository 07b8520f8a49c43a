"""JSON schemas for editors, of AppDefs and of each kind: by these, they complete and check files while they are written."""

import json
from pathlib import Path
from typing import Any

from nestor.api.appdef_models import AppDef
from nestor.api.crd import RESOURCES, build_crd


def write(folder: Path) -> None:
    """A file each."""
    schemas = {resource.kind.lower(): _build_kind(build_crd(resource)["spec"]) for resource in RESOURCES}
    for name, schema in (schemas | {"appdef": AppDef.model_json_schema(by_alias=True)}).items():
        whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        (folder / f"{name}.schema.json").write_text(json.dumps(whole, indent=1) + "\n")


def _build_kind(spec: dict[str, Any]) -> dict[str, Any]:
    (version,) = spec["versions"]
    schema = _close(version["schema"]["openAPIV3Schema"])
    schema["properties"] |= {
        "apiVersion": {"const": f"{spec['group']}/{version['name']}"},
        "kind": {"const": spec["names"]["kind"]},
        "metadata": {"type": "object"},
    }
    return schema | {"required": ["apiVersion", "kind", "metadata", "spec"]}


def _close(schema: dict[str, Any]) -> dict[str, Any]:
    """Without what only an API server reads; a key that no kind has is an error, as for `kubectl apply`."""
    found = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    if "properties" in found:
        found["properties"] = {name: _close(item) for name, item in found["properties"].items()}
        found["additionalProperties"] = False
    return found | {key: _close(found[key]) for key in ("items", "additionalProperties") if isinstance(found.get(key), dict)}
