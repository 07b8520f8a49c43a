"""Builds CustomResourceDefinitions from the models. `python -m nestor.api.crd FOLDER` writes them, and the chart's copies."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from nestor.api import labels
from nestor.api.base import rule
from nestor.api.job_status import NestedAppJobStatus
from nestor.api.nestedapp import NestedAppSpec, NestedAppStatus
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec, NestedClassStatus
from nestor.api.nestedcluster import NestedClusterSpec, NestedClusterStatus
from nestor.api.overflowbackend import NAME_LIMIT as BACKEND_NAME_LIMIT
from nestor.api.overflowbackend import OverflowBackendSpec, OverflowBackendStatus
from nestor.api.schema import Schema, build_schema
from nestor.api.words import NAME_LIMIT, VERSION

HEADER = "# Written by `make crds` from the models in src/nestor/api. Do not edit.\n"
CHART_FOLDER = Path("charts/nestor/crds")


@dataclass(frozen=True)
class Column:
    """One column of `kubectl get`."""

    name: str
    path: str
    description: str
    type: str = "string"
    priority: int = 0

    def to_dict(self) -> dict[str, Any]:
        found = {"name": self.name, "type": self.type, "jsonPath": self.path, "description": self.description}
        return found | ({"priority": self.priority} if self.priority else {})


def _said(condition: str, field: str) -> str:
    return f".status.conditions[?(@.type=='{condition}')].{field}"


AGE = Column("Age", ".metadata.creationTimestamp", "Time since creation.", "date")


@dataclass(frozen=True)
class Resource:
    """One kind: its names, its models, and what `kubectl get` shows."""

    kind: str
    plural: str
    short: str
    description: str
    spec: type[BaseModel]
    status: type[BaseModel] | None = None
    scope: str = "Namespaced"
    columns: list[Column] = field(default_factory=list)
    name_limit: int | None = None
    name_use: str = "Services"
    """What has the object's name as a part of its own, which is why it is limited."""


RESOURCES = [
    Resource(
        "NestedAppJob",
        "nestedappjobs",
        "naj",
        "Runs a Kubernetes application once, in its own nested cluster.",
        NestedAppJobSpec,
        NestedAppJobStatus,
        name_limit=NAME_LIMIT,
        columns=[
            Column("Status", _said("Ready", "reason"), "AppReady, or what the job is waiting for or failed at."),
            Column("URL", ".status.url", "URL of the application."),
            Column("Version", ".status.kubernetesVersion", "Kubernetes version of the nested cluster."),
            Column("Queue", ".status.queue.position", "Its place in the queue of its class; 1 is next.", "integer"),
            AGE,
            Column("Message", _said("Ready", "message"), "The status as a sentence.", priority=1),
        ],
    ),
    Resource(
        "NestedApp",
        "nestedapps",
        "napp",
        "An application in the catalog, written by admins. Jobs refer to it by name.",
        NestedAppSpec,
        NestedAppStatus,
        scope="Cluster",
        columns=[
            Column("Title", ".status.title", "What it is."),
            Column("Accepted", _said("Accepted", "status"), "Whether its AppDef can be run."),
            Column("Commands", ".status.commands[*].id", "What a job's `command` may say."),
            Column("Image", ".spec.image", "App image.", priority=1),
            AGE,
            Column("Message", _said("Accepted", "message"), "Why.", priority=1),
        ],
    ),
    Resource(
        "NestedCluster",
        "nestedclusters",
        "ncl",
        "The nested K3s cluster of a job. Only Nestor writes it.",
        NestedClusterSpec,
        NestedClusterStatus,
        name_limit=NAME_LIMIT,
        columns=[
            Column("Ready", _said("Ready", "status"), "Whether the nested API server answers."),
            Column("Status", _said("Ready", "reason"), "Why."),
            Column("Version", ".status.kubernetesVersion", "Kubernetes version that the API server reports."),
            AGE,
        ],
    ),
    Resource(
        "NestedClass",
        "nestedclasses",
        "nclass",
        "The admins' policy for jobs: their clusters, limits, network access and exposure.",
        NestedClassSpec,
        NestedClassStatus,
        scope="Cluster",
        columns=[
            Column("Profile", ".spec.profile", "For whom it is."),
            Column("Version", ".status.effective.cluster.versions[0]", "Kubernetes version for jobs that ask for none."),
            Column("Domain", ".spec.expose.domain", "Domain under which jobs get their host."),
            Column(
                "Default",
                ".metadata.annotations.nestedclass\\.nestor\\.dev/is-default-class",
                "Whether it is the class of jobs that name none.",
            ),
            Column("Access", ".spec.access", "Who may use it."),
            Column("Enforced", _said("NetworkEnforced", "status"), "Whether the cluster enforces NetworkPolicies."),
            AGE,
        ],
    ),
    Resource(
        "OverflowBackend",
        "overflowbackends",
        "ofb",
        "A place outside the host cluster where pods can run. It appears in the host cluster as virtual nodes, one per shape.",
        OverflowBackendSpec,
        OverflowBackendStatus,
        scope="Cluster",
        name_limit=BACKEND_NAME_LIMIT,
        name_use="nodes",
        columns=[
            Column("Type", ".spec.type", "What the backend is."),
            Column("Ready", _said("Ready", "status"), "Whether all its nodes take pods."),
            Column("Status", _said("Ready", "reason"), "Why."),
            Column("Nodes", ".status.readyNodes", "How many of its nodes are ready."),
            AGE,
            Column("Reachable", _said("Reachable", "status"), "Whether the backend answers.", priority=1),
            Column("Message", _said("Ready", "message"), "The status as a sentence.", priority=1),
        ],
    ),
]


def build_crd(resource: Resource) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [column.to_dict() for column in resource.columns],
        "schema": {"openAPIV3Schema": _build_root(resource)},
    }
    if resource.status:
        version["subresources"] = {"status": {}}
    singular = resource.kind.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{labels.GROUP}"},
        "spec": {
            "group": labels.GROUP,
            "scope": resource.scope,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": singular,
                "shortNames": [resource.short],
                "categories": ["nestor"],
            },
            "versions": [version],
        },
    }


def _build_root(resource: Resource) -> Schema:
    properties: Schema = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": build_schema(resource.spec),
    }
    if resource.status:
        properties["status"] = build_schema(resource.status)
    root: Schema = {"type": "object", "description": resource.description, "required": ["spec"], "properties": properties}
    if resource.name_limit:
        limit = resource.name_limit
        root["x-kubernetes-validations"] = [
            rule(
                f"self.metadata.name.size() <= {limit} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
                f"`metadata.name` must be at most {limit} lower-case letters, digits and '-', starting with a letter: "
                f"it becomes part of the names of {resource.name_use}",
            )
        ]
    return root


def render(resource: Resource) -> str:
    return HEADER + yaml.safe_dump(build_crd(resource), sort_keys=False, width=120, allow_unicode=True)


def write(folder: Path) -> list[Path]:
    """Write a file per kind; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for resource in RESOURCES:
        path = folder / f"{resource.plural}.yaml"
        path.write_text(render(resource))
        written.append(path)
    return written


def main(arguments: list[str]) -> int:
    """Write to the given folder, and to the chart beside it if there is one."""
    folder = Path(arguments[0] if arguments else "crds")
    for target in (folder, folder.parent / CHART_FOLDER):
        if target == folder or target.parent.is_dir():
            for path in write(target):
                sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


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
    found = set()
    for key, inner in (schema.get("properties") or {}).items():
        where = f"{path}.{key}" if path else key
        found |= {where} | _list_fields(inner, where)
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found |= _list_fields(inner, path)
    return found
