"""Builders of what the operator's decisions look at."""

import datetime
from collections.abc import Iterable
from typing import Any

import pytest

from nestor.api import conditions, times
from nestor.api.conditions import Condition
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec, resolve_class
from nestor.cluster.shape import Host, Shape
from nestor.operator.admission.admit import Resolved, admit
from nestor.operator.admission.app_source import find_source
from nestor.operator.admission.identity import Denial, Refused, identify
from nestor.operator.lifecycle.lifecycle import Lifecycle, Phase
from nestor.operator.lifecycle.record import Record

Object = dict[str, Any]

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
TARGET = {"service_name": "web", "service_port": 8080, "service_namespace": "default"}
IMAGES = {"v1.9": "k3s:9", "v1.36": "k3s:v1.36.3-k3s1", "v1.37": "k3s:37"}
UNPRIVILEGED: Object = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
STEPS = [
    {"name": "database", "type": "kubectl", "path": "db.yml", "retry": 2},
    {"name": "web", "type": "kubectl", "path": "web.yml"},
]


def ago(seconds: float) -> str:
    """A time before `NOW`."""
    return times.write(NOW - datetime.timedelta(seconds=seconds))


def build_policy(**changes: Any) -> NestedClassSpec:
    """A class with two versions and a domain."""
    return resolve_class(
        {
            "profile": "Evaluation",
            "cluster": {"versions": ["v1.36", "v1.9"]} | changes.pop("cluster", {}),
            "expose": {"domain": "jobs.test", "port": 8080} | changes.pop("expose", {}),
            **changes,
        }
    )


def build_job(name: str = "hello", namespace: str = "team-a", *, nested: Object | None = None, **spec: Any) -> Object:
    kubernetes = {"targets": [TARGET], "templates": STEPS} if nested is None else nested
    app = {"image": "registry.test/hello:1", "appDef": {"commands": {"Hello": {"nested_kubernetes": kubernetes}}}}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": "1234",
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"app": app, "className": "default"} | spec,
    }


def build_spec(**spec: Any) -> NestedAppJobSpec:
    """The spec of such a job, as it is read."""
    return NestedAppJobSpec.model_validate(build_job(**spec)["spec"])


def build_app(name: str, **spec: Any) -> Object:
    """An entry of the catalog; None takes a field away."""
    appdef = {"appkind": "kns", "commands": {"Hello": {"nested_kubernetes": {"targets": [TARGET], "templates": STEPS}}}}
    full = {"image": "registry.test/hello:1", "appDef": appdef} | spec
    kept = {key: value for key, value in full.items() if value is not None}
    return {"metadata": {"name": name, "uid": f"uid-of-{name}", "generation": 1}, "spec": kept}


def resolve(
    job: Object, classes: dict[str, NestedClassSpec], cluster: Object | None = None, apps: Iterable[Object] = ()
) -> Resolved:
    """The job with all that it names. Raises `Refused`, also where an AppDef would have to be read from an image."""
    known = identify(job, classes)
    return admit(known, find_source(known, apps), cluster, images=IMAGES)


def deny(job: Object, *policies: NestedClassSpec, classes: dict[str, NestedClassSpec] | None = None) -> Denial:
    """Why the job is refused: by a class, or by classes."""
    with pytest.raises(Refused) as refused:
        resolve(job, {"default": policies[0]} if policies else classes or {})
    return refused.value.denial


def build_resolved(job: Object | None = None, policy: NestedClassSpec | None = None) -> Resolved:
    return resolve(job or build_job(), {"default": policy or build_policy()})


def build_shape(resolved: Resolved | None = None, policy: Object | None = None, **changes: Any) -> Shape:
    """A cluster's shape; `policy`: what its class says besides."""
    found = resolved or build_resolved()
    values: Object = {
        **vars(found.home),
        "image": found.cluster.image,
        "core_dns_image": "coredns:1",
        "nestor_image": "nestor:1",
        "host": Host(("10.43.0.0/16",), ("203.0.113.7",)),
        "policy": build_policy(**policy or {}),
    }
    return Shape(**values | changes)


def build_pod(
    name: str = "hello-k3s-0", *, status: Object | None = None, annotations: Object | None = None, **meta: Any
) -> Object:
    metadata = {"name": name, "namespace": "nestor-x", "uid": "p1", "annotations": annotations or {}} | meta
    return {"metadata": metadata, "spec": {"volumes": []}, "status": status or {"phase": "Pending"}}


def waiting(reason: str, message: str = "") -> Object:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [{"name": "k3s", "image": "x", "state": state}]}


def ended(code: int, finished: str, reason: str = "Error") -> Object:
    state = {"terminated": {"exitCode": code, "finishedAt": finished, "reason": reason}}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"name": "runner", "image": "x", "state": state}]}


READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def build_cluster(*, is_ready: bool = True, **status: Any) -> Object:
    """A NestedCluster as its syncer reports it."""
    ready = {"type": "Ready", "status": "True" if is_ready else "False", "reason": "x", "message": "the API does not answer"}
    return {"metadata": {"name": "hello"}, "status": {"conditions": [ready], "kubernetesVersion": "v1.36.2+k3s1"} | status}


def build_run(state: str, *steps: Object, plan_hash: str = "h") -> Object:
    return {"version": 1, "hash": plan_hash, "state": state, "steps": list(steps)}


def step(name: str, state: str, attempt: int = 1, most: int = 3, message: str = "") -> Object:
    return {"name": name, "type": "kubectl", "state": state, "attempt": attempt, "maxAttempts": most, "message": message}


def build_life(phase: Phase = "Running", reason: str = conditions.RUNNING, message: str = "it runs", **more: Any) -> Lifecycle:
    status: conditions.Status = "Unknown" if phase != "Finished" else "True" if reason == conditions.COMPLETED else "False"
    return Lifecycle(phase, Condition(conditions.SUCCEEDED, status, reason, message), more.pop("record", Record()), **more)
