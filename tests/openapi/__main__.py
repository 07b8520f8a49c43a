"""Writes `fields.txt` anew: `python -m tests.openapi v1.33.13 v1.34.4 …`, with one patch level of each version to cover.

Each is a version of the Go module k8s.io/kubernetes, which has the OpenAPI of its API server; `go mod download` gets it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.openapi import Field, write_fields

ROOTS = {
    "api__v1_openapi.json": ("PodSpec", "ServiceSpec", "PersistentVolumeClaimSpec"),
    "apis__networking.k8s.io__v1_openapi.json": ("NetworkPolicySpec",),
    "apis__resource.k8s.io__v1_openapi.json": ("ResourceClaimSpec",),
    "apis__policy__v1_openapi.json": ("PodDisruptionBudgetSpec",),
}
_OPAQUE = frozenset({"ObjectMeta"})

Schemas = dict[str, dict[str, Any]]


def read_module(version: str) -> dict[tuple[str, str], str]:
    """The fields of one version, by type and name, with the types of their contents."""
    found = subprocess.run(
        ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}"], check=True, capture_output=True, text=True
    )
    folder = Path(json.loads(found.stdout)["Dir"]) / "api/openapi-spec/v3"
    fields: dict[tuple[str, str], str] = {}
    for file, roots in ROOTS.items():
        if not (folder / file).exists():  # a version that does not have the group yet
            continue
        schemas: Schemas = json.loads((folder / file).read_text())["components"]["schemas"]
        short = {name.rpartition(".")[2]: schema for name, schema in schemas.items()}
        for root in roots:
            _walk(root, short, fields)
    return fields


def _walk(owner: str, schemas: Schemas, fields: dict[tuple[str, str], str]) -> None:
    for name, schema in (schemas[owner].get("properties") or {}).items():
        if (owner, name) in fields:
            continue
        kind = next((item for item in _find_types(schema) if item not in _OPAQUE and schemas[item].get("properties")), "")
        fields[owner, name] = kind
        if kind:
            _walk(kind, schemas, fields)


def _find_types(schema: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"].rpartition(".")[2]
    for part in [*schema.get("allOf", []), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(part, dict):
            yield from _find_types(part)


def main(patch_levels: list[str]) -> None:
    """Read all versions and write the file."""
    found = {".".join(version.split(".")[:2]): read_module(version) for version in patch_levels}
    kinds = {key: kind for fields in found.values() for key, kind in fields.items()}
    having = {key: tuple(version for version, fields in found.items() if key in fields) for key in kinds}
    fields = [Field(*key, kinds[key], () if len(having[key]) == len(found) else having[key]) for key in kinds]
    write_fields(fields, patch_levels)


if __name__ == "__main__":
    main(sys.argv[1:])
