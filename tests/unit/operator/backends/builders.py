"""Builders of backends, their nodes and their pods."""

from typing import Any

from nestor.api import labels
from nestor.api.objects import Object
from nestor.api.overflowbackend import OverflowBackendSpec, Shape
from nestor.operator.backends.nodes import Wanted, build_node, list_wanted

UID = "backend-uid"
SHAPE: Object = {"name": "default", "capacity": {"cpu": "4", "memory": "8Gi"}}
GPU: Object = {"name": "gpu", "capacity": {"cpu": "8", "nvidia.com/gpu": "2"}, "labels": {"gpu-type": "a100"}}
ANSWERS: Object = {"type": "Reachable", "status": "True", "reason": "BackendAnswers", "message": "it answers"}


def build_spec(**changes: Any) -> OverflowBackendSpec:
    """The spec of an interLink backend."""
    return OverflowBackendSpec.model_validate({"type": "Interlink", "interlink": {"url": "https://link.test"}} | changes)


def build_backend(name: str = "link", *, uid: str = UID, status: Object | None = None, **spec: Any) -> Object:
    """A backend with our finalizer."""
    meta = {"name": name, "uid": uid, "generation": 1, "finalizers": [labels.FINALIZER]}
    body = {"type": "Interlink", "interlink": {"url": "https://link.test"}} | spec
    return {"metadata": meta, "spec": body, "status": status or {}}


def tell(*shapes: Object, **more: Any) -> Object:
    """A status as the process of the virtual nodes reports it."""
    return {"conditions": [ANSWERS | more], "shapes": list(shapes)}


def want(shape: Object = SHAPE, backend: str = "link", **spec: Any) -> Wanted:
    """The node that a shape becomes."""
    (found,) = list_wanted(backend, build_spec(**spec), [Shape.model_validate(shape)]).values()
    return found


def build_live(backend: Object | None = None, shape: Object = SHAPE, *, ready: bool = True, **meta: Any) -> Object:
    """A node as the operator has made it, and as the process reports it."""
    backend = backend or build_backend()
    node = build_node(backend, want(shape, backend["metadata"]["name"]))
    node["metadata"] |= {"uid": f"uid-of-{node['metadata']['name']}", "resourceVersion": "1"}
    node["metadata"]["annotations"] |= meta.pop("annotations", {})
    node["metadata"] |= meta
    condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "x", "message": "the kubelet is quiet"}
    return node | {"status": {"conditions": [condition]}}


def build_pod(name: str, node: str = "link", *, phase: str = "Running", **meta: Any) -> Object:
    metadata = {"name": name, "namespace": "team-a", "uid": f"uid-of-{name}"} | meta
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


def build_process(backend: str = "link", *, ready: bool = True, **status: Any) -> Object:
    """The pod of a backend's process."""
    own = {labels.BACKEND: backend, labels.COMPONENT: labels.COMPONENT_VNODE, labels.MANAGED_BY: "nestor"}
    meta = {"name": f"vnode-{backend}-x", "namespace": "nestor-system", "uid": f"uid-of-vnode-{backend}", "labels": own}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    found = {"phase": "Running", "conditions": conditions, "podIPs": [{"ip": "10.1.2.3"}]} | status
    return {"metadata": meta, "spec": {}, "status": found}
