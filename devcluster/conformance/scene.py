"""The nested cluster that the tests run against: its class and its job. Pure."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

NAMESPACE = "conformance"
POD_SECURITY = {"baseline": "Baseline", "privileged": "Privileged"}
QUOTA = {"pods": "400", "count/pods": "4000", "services": "400", "configmaps": "2000", "secrets": "2000"}
"""The tests make more at a time than an application may by default."""
_VERSION = "nestor.dev/v1alpha1"


def build_class(default: Object, class_name: str) -> Object:
    """The class `default`, with the level of pod security that the column is about, all nodes, and room for the tests."""
    cluster = default["spec"]["cluster"] | {"nodes": "All"}
    namespace = (default["spec"].get("namespace") or {}) | {"podSecurity": POD_SECURITY[class_name], "quota": QUOTA}
    return _build("NestedClass", job_name(class_name), default["spec"] | {"cluster": cluster, "namespace": namespace})


def job_name(class_name: str) -> str:
    """Of the job, and of its class."""
    return f"conformance-{class_name}"


def build_job(class_name: str) -> list[Object]:
    """A job that is nothing but its nested cluster, with all that it needs in its namespace."""
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing, namespace: default}\n"
    name = job_name(class_name)
    meta = {"name": name, "namespace": NAMESPACE}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    templates = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"nothing.yml": template}}
    steps = [{"name": "nothing", "type": "kubectl", "path": "nothing.yml"}]
    command = {"path": "/usr/bin/true", "name": "Run", "parameters": {}, "nested_kubernetes": {"templates": steps}}
    app_def = {"name": "Conformance tests", "appdefversion": 2, "appkind": "kns", "commands": {"Run": command}}
    app = {"templatesFrom": {"configMapRef": {"name": name}}, "appDef": app_def}
    return [namespace, templates, _build("NestedAppJob", name, {"className": name, "app": app}, NAMESPACE)]


def _build(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _VERSION, "kind": kind, "metadata": meta, "spec": spec}
