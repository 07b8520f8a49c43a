"""The nested cluster that the tests run against: its class and its job. Pure."""

from typing import Any

Object = dict[str, Any]

NAMESPACE = "conformance"
POD_SECURITY = {"baseline": "Baseline", "privileged": "Privileged"}
QUOTA = {
    "pods": "400",
    "count/pods": "4000",
    "services": "400",
    "services.nodeports": "50",
    "configmaps": "2000",
    "secrets": "2000",
}
"""The tests make more at a time than an application may by default."""
RUNTIME = "test-handler"
"""Handler of the RuntimeClasses that the tests make. No node needs to have it: their pods only have to be scheduled."""
_VERSION = "nestor.dev/v1alpha1"


def build_class(default: Object, class_name: str) -> Object:
    """The class `default`, with the level of pod security that the column is about, all else that a class may allow, and room for
    the tests.
    """
    cluster = (default["spec"].get("cluster") or {}) | {"nodes": "All"}
    namespace = (default["spec"].get("namespace") or {}) | {"podSecurity": POD_SECURITY[class_name], "quota": QUOTA}
    placement = (default["spec"].get("placement") or {}) | {"runtimeClasses": {"allowed": [RUNTIME]}}
    own = {"cluster": cluster, "namespace": namespace, "placement": placement, "services": {"nodePorts": True}}
    return _build("NestedClass", job_name(class_name), default["spec"] | own)


def job_name(class_name: str) -> str:
    """Of the job, and of its class."""
    return f"conformance-{class_name}"


def build_job(class_name: str) -> list[Object]:
    """A job that is nothing but its nested cluster, with all that it needs in the host."""
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing, namespace: default}\n"
    name = job_name(class_name)
    meta = {"name": name, "namespace": NAMESPACE}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": RUNTIME}, "handler": RUNTIME}
    templates = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"nothing.yml": template}}
    steps = [{"name": "nothing", "type": "kubectl", "path": "nothing.yml"}]
    command = {"path": "/usr/bin/true", "name": "Run", "parameters": {}, "nested_kubernetes": {"templates": steps}}
    app_def = {"name": "Conformance tests", "appdefversion": 2, "appkind": "kns", "commands": {"Run": command}}
    app = {"templatesFrom": {"configMapRef": {"name": name}}, "appDef": app_def}
    return [namespace, runtime, templates, _build("NestedAppJob", name, {"className": name, "app": app}, NAMESPACE)]


def _build(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": _VERSION, "kind": kind, "metadata": meta, "spec": spec}
