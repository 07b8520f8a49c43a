"""Nested Services as host Services: the same cluster IP, the same pods, nothing that reaches outside the cluster."""

from __future__ import annotations

from typing import Any, Literal

from nestor.api.labels import MANAGED_BY
from nestor.objects import Object, labels_of
from nestor.translate import labels
from nestor.translate.target import Target

Fate = Literal["Synced", "Nested", "Refused"]

_FIELDS = ("sessionAffinity", "sessionAffinityConfig", "publishNotReadyAddresses", "internalTrafficPolicy", "trafficDistribution")
_KEPT = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_PORT_FIELDS = ("name", "protocol", "port", "targetPort", "appProtocol")


def decide_fate(service: Object) -> Fate:
    """Whether a nested Service gets a host Service, lives in the nested cluster and its DNS alone, or cannot work.

    One without a selector has endpoints that a tenant writes: carried to the host, they could point anywhere.
    """
    meta, spec = service["metadata"], service["spec"]
    if (meta["namespace"], meta["name"]) == ("default", "kubernetes") or is_ours(service):
        return "Nested"
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") in (None, "", "None"):
        return "Nested"
    return "Synced" if spec.get("selector") else "Refused"


def is_ours(service: Object) -> bool:
    """True for Services that the syncer itself made in the nested cluster."""
    own = labels_of(service)
    return own.get(MANAGED_BY) == "nestor"


def build_service(service: Object, target: Target, cluster_ip: str | None) -> Object:
    """The host Service. `cluster_ip` None lets the host choose one."""
    meta, spec = service["metadata"], service["spec"]
    result: Object = {key: spec[key] for key in _FIELDS if key in spec}
    result |= {
        "type": "ClusterIP",
        "selector": labels.host_labels(spec["selector"], rename_all=target.is_shared) | target.scope(meta["namespace"]),
        "ports": [{key: port[key] for key in _PORT_FIELDS if key in port} for port in spec.get("ports") or []],
    }
    if cluster_ip:
        result["clusterIP"] = cluster_ip
    return {"apiVersion": "v1", "kind": "Service", "metadata": target.metadata(service), "spec": result}


def is_current(host: Object, desired: Object) -> bool:
    """True when the host Service says all that `desired` says; the server adds defaults of its own."""
    if any(labels_of(host).get(key) != value for key, value in desired["metadata"]["labels"].items()):
        return False
    if any(host["spec"].get(key) and key not in desired["spec"] for key in _FIELDS):
        return False
    return all(_same(key, host["spec"].get(key), value) for key, value in desired["spec"].items())


def build_patch(host: Object, desired: Object) -> Object:
    """A merge patch from the host Service to `desired`; the cluster IP is not among what can change."""
    gone = {key: None for key in host["spec"].get("selector") or {} if key not in desired["spec"]["selector"]}
    spec = {key: desired["spec"].get(key) for key in (*_FIELDS, "ports")}
    metadata = {key: desired["metadata"][key] for key in ("labels", "annotations")}
    return {"metadata": metadata, "spec": spec | {"selector": desired["spec"]["selector"] | gone}}


def _same(key: str, there: Any, wanted: Any) -> bool:
    if key != "ports":
        return bool(there == wanted)
    if len(there or []) != len(wanted):
        return False
    return all(all(one.get(name) == value for name, value in two.items()) for one, two in zip(there, wanted, strict=True))


def build_successor(service: Object, cluster_ip: str) -> Object:
    """The nested Service again, with a cluster IP that is free on the host: it cannot be changed in place."""
    meta, spec = service["metadata"], service["spec"]
    kept = {key: meta[key] for key in _KEPT if key in meta}
    dropped = ("clusterIP", "clusterIPs", "healthCheckNodePort")
    fresh = {key: value for key, value in spec.items() if key not in dropped}
    return {"apiVersion": "v1", "kind": "Service", "metadata": kept, "spec": fresh | {"clusterIP": cluster_ip}}
