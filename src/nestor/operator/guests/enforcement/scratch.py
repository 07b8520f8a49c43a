"""The probe's objects: a namespace of its own, two policies, and two pods like those of jobs. Pure."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.operator.guests.enforcement import probe
from nestor.operator.settings import Settings

PREFIX = "nestor-probe-"
LISTENER, CALLER = "listener", "caller"
ACTIVE_SECONDS = 300
"""Time limit of the pods: they end even if no operator is there to delete them."""
RESOURCES: Object = {"requests": {"cpu": "5m", "memory": "24Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}}


def build_namespace(name: str, owner: Object) -> Object:
    """The namespace; it belongs to the operator's own, `owner`, and goes with it at the latest."""
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    own = {labels.MANAGED_BY: "nestor", labels.PURPOSE: "probe", "pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": own, "ownerReferences": [reference]}}


def is_scratch(namespace: Object, owner: Object) -> bool:
    """Whether this is such a namespace: by its name and its owner, since labels are quickly copied."""
    meta = namespace["metadata"]
    owners = {item.get("uid") for item in meta.get("ownerReferences") or ()}
    is_ours = labels_of(namespace).get(labels.PURPOSE) == "probe" and owner["metadata"]["uid"] in owners
    return is_ours and str(meta["name"]).startswith(PREFIX)


def build_policies(namespace: str) -> list[Object]:
    """One per pod. Each forbids what the other one allows, so that it is known which direction has no effect."""
    caller = {"podSelector": {"matchLabels": {labels.PURPOSE: CALLER}}}
    listener = {"podSelector": {"matchLabels": {labels.PURPOSE: LISTENER}}}
    return [
        _build_policy(
            namespace,
            LISTENER,
            {**listener, "ingress": [{"from": [caller], "ports": _ports(probe.OPEN_PORT, probe.EGRESS_PORT)}]},
        ),
        _build_policy(
            namespace, CALLER, {**caller, "egress": [{"to": [listener], "ports": _ports(probe.OPEN_PORT, probe.INGRESS_PORT)}]}
        ),
    ]


def build_listener(namespace: str, settings: Settings) -> Object:
    """The pod that is called."""
    return _build_pod(namespace, LISTENER, ["probe", "listen"], settings)


def build_caller(namespace: str, settings: Settings, address: str) -> Object:
    """The pod that calls."""
    return _build_pod(namespace, CALLER, ["probe", "call", address], settings)


def _ports(*numbers: int) -> list[Object]:
    return [{"protocol": "TCP", "port": number} for number in numbers]


def _build_policy(namespace: str, name: str, spec: Object) -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {**spec, "policyTypes": ["Ingress", "Egress"]}}


def _build_pod(namespace: str, name: str, arguments: list[str], settings: Settings) -> Object:
    """A pod with the labels of an application's, as far as network plugins and admins' policies can know them."""
    own = {labels.MANAGED_BY: "nestor", labels.COMPONENT: labels.COMPONENT_APP, labels.PURPOSE: name}
    container = {
        "name": "probe",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "resources": RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "activeDeadlineSeconds": ACTIVE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": own}, "spec": spec}
