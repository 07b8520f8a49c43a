"""Kueue's API and its scheduler, played by tests.

The definitions are written after Kueue's documentation, with what this project reads and writes and the rules about it; they are
not Kueue's own files. To test with those, set `NESTOR_KUEUE_CRDS` to a folder with them (`config/components/crd/bases` of Kueue's
source, without the conversion webhook).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import Api, kinds
from nestor.kube.errors import Conflict
from tests.waiting import wait_for

GROUP = "kueue.x-k8s.io"
NAME = {"type": "string", "maxLength": 253}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CONDITION = {
    "type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "properties": {
        "type": {"type": "string", "maxLength": 316},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        "message": {"type": "string", "maxLength": 32768},
        "observedGeneration": {"type": "integer", "minimum": 0},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}
HAS_QUOTA = (
    "has(oldSelf.status) && has(oldSelf.status.conditions) && "
    "oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')"
)


def list_of(items: Object, key: str) -> Object:
    """A list whose items have a key."""
    return {"type": "array", "items": items, "maxItems": 16, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


def build_workload_schema(version: str) -> Object:
    """What a Workload may say."""
    pod_set = {
        "type": "object",
        "required": ["template"],
        "properties": {
            "name": {"type": "string", "default": "main", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
            "count": {"type": "integer", "default": 1, "minimum": 0},
            "template": FREE,
        },
    }
    spec: Object = {
        "queueName": NAME,
        "podSets": {**list_of(pod_set, "name"), "minItems": 1, "maxItems": 8},
        "priority": {"type": "integer"},
        "active": {"type": "boolean", "default": True},
    }
    if version == "v1beta1":
        spec |= {"priorityClassName": NAME, "priorityClassSource": {"type": "string"}}
    else:
        reference = {name: NAME for name in ("group", "kind", "name")}
        spec["priorityClassRef"] = {"type": "object", "required": ["group", "kind", "name"], "properties": reference}
    check = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": NAME, "state": NAME, "podSetUpdates": {"type": "array", "items": FREE}},
    }
    assignment = {"type": "object", "properties": {"name": NAME, "flavors": FREE, "count": {"type": "integer"}}}
    status = {
        "conditions": list_of(CONDITION, "type"),
        "admission": {
            "type": "object",
            "properties": {"clusterQueue": NAME, "podSetAssignments": list_of({**assignment, "required": ["name"]}, "name")},
        },
        "admissionChecks": list_of(check, "name"),
    }
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec}, "status": {"type": "object", "properties": status}},
        "x-kubernetes-validations": [
            {"rule": f"({HAS_QUOTA}) ? self.spec.podSets == oldSelf.spec.podSets : true", "message": "podSets are immutable"}
        ],
    }


def build_definition(plural: str, kind: str, schemas: dict[str, Object], *, scope: str, has_status: bool = False) -> Object:
    """One of Kueue's kinds; the first version is stored."""
    versions = [
        {
            "name": name,
            "served": True,
            "storage": number == 0,
            "schema": {"openAPIV3Schema": schema},
            **({"subresources": {"status": {}}} if has_status else {}),
        }
        for number, (name, schema) in enumerate(schemas.items())
    ]
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": names, "versions": versions},
    }


def list_definitions(*versions: str) -> list[Object]:
    """Kueue's kinds that this project has to do with."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        build_definition(
            "workloads",
            "Workload",
            {version: build_workload_schema(version) for version in versions},
            scope="Namespaced",
            has_status=True,
        ),
        build_definition("resourceflavors", "ResourceFlavor", dict.fromkeys(versions, free), scope="Cluster"),
        build_definition("workloadpriorityclasses", "WorkloadPriorityClass", dict.fromkeys(versions, free), scope="Cluster"),
    ]


def read_definitions(folder: Path) -> list[Object]:
    """Kueue's own."""
    return [yaml.safe_load(file.read_text()) for file in sorted(folder.glob(f"{GROUP}_*.yaml"))]


async def install(api: Api) -> None:
    """Have Kueue's kinds, and await that they are served."""
    found = list_definitions("v1beta2")
    if folder := os.environ.get("NESTOR_KUEUE_CRDS"):
        found = read_definitions(Path(folder))
    for definition in found:
        await api.apply(kinds.CRD, definition)
        await wait_for(
            api,
            kinds.CRD,
            definition["metadata"]["name"],
            "",
            lambda item: conditions.is_true((item or {}).get("status", {}).get("conditions"), "Established"),
        )


def say(kind: str, status: str, reason: str, message: str = "") -> Object:
    """A condition that Kueue sets."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": timestamp()}


async def write(api: Api, name: str, namespace: str, *said: Object, **status: Any) -> None:
    """Write conditions and other parts of a Workload's status, and keep the other conditions."""
    while True:
        found = await api.get(kinds.WORKLOAD, name, namespace)
        kept = [
            item
            for item in (found.get("status") or {}).get("conditions") or ()
            if item["type"] not in {new["type"] for new in said}
        ]
        body = {
            "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
            "status": {"conditions": [*kept, *said]} | status,
        }
        try:
            await api.patch(kinds.WORKLOAD, name, namespace, body, subresource="status")
        except Conflict:
            continue
        return


async def admit(api: Api, name: str, namespace: str, **flavors: str) -> None:
    """Reserve quota and admit. `flavors`: by pod set."""
    sets = [{"name": key.replace("_", "-"), "flavors": {"cpu": flavor}, "count": 1} for key, flavor in flavors.items()]
    found = await api.get(kinds.WORKLOAD, name, namespace)
    named = {item["name"] for item in sets}
    sets += [{"name": item["name"], "count": 1} for item in found["spec"]["podSets"] if item["name"] not in named]
    await write(
        api,
        name,
        namespace,
        say("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq"),
        say("Admitted", "True", "Admitted", "The workload is admitted"),
        say("Evicted", "False", "QuotaReserved"),
        admission={"clusterQueue": "cq", "podSetAssignments": sets},
    )


async def evict(api: Api, name: str, namespace: str, reason: str = "Preempted") -> None:
    """Ask for the quota back."""
    await write(api, name, namespace, say("Evicted", "True", reason, "Preempted to accommodate a workload of higher priority"))
