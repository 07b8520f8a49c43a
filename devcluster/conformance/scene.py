"""The nested cluster that the tests run against: its class, its job, and what keeps its nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

NAMESPACE = "conformance"
HOLDERS = "node-holders"
"""The namespace inside, of the pods that keep the nodes."""
POD_SECURITY = {"baseline": "Baseline", "privileged": "Privileged"}
QUOTA = {"pods": "400", "count/pods": "4000", "services": "400", "configmaps": "2000", "secrets": "2000"}
"""The tests make more at a time than an application may by default."""
_VERSION = "nestor.dev/v1alpha1"


def build_class(default: Object, class_name: str) -> Object:
    """The class `default`, with the level of pod security that the column is about, and room for the tests."""
    namespace = (default["spec"].get("namespace") or {}) | {"podSecurity": POD_SECURITY[class_name], "quota": QUOTA}
    return _build("NestedClass", job_name(class_name), default["spec"] | {"namespace": namespace})


def job_name(class_name: str) -> str:
    """Of the job, and of its class."""
    return f"conformance-{class_name}"


def build_job(class_name: str) -> list[Object]:
    """A job that is nothing but its nested cluster, with all that it needs in its namespace."""
    template = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {HOLDERS}}}\n"
    name = job_name(class_name)
    meta = {"name": name, "namespace": NAMESPACE}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    templates = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"namespace.yml": template}}
    steps = [{"name": "namespace", "type": "kubectl", "path": "namespace.yml"}]
    command = {"path": "/usr/bin/true", "name": "Run", "parameters": {}, "nested_kubernetes": {"templates": steps}}
    app_def = {"name": "Conformance tests", "appdefversion": 2, "appkind": "kns", "commands": {"Run": command}}
    app = {"templatesFrom": {"configMapRef": {"name": name}}, "appDef": app_def}
    return [namespace, templates, _build("NestedAppJob", name, {"className": name, "app": app}, NAMESPACE)]


def build_holders(nodes: Iterable[str], image: str) -> list[Object]:
    """A pod on each node: a nested cluster knows those nodes that its pods use, and the tests begin by looking for nodes."""
    return [_build_holder(node, image) for node in nodes]


def _build_holder(node: str, image: str) -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    spec = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "containers": [{"name": "pause", "image": image}],
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": node, "namespace": HOLDERS}, "spec": spec}


def _build(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _VERSION, "kind": kind, "metadata": meta, "spec": spec}
