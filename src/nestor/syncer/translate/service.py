"""Nested Services as host Services: the same cluster IP, the same pods, nothing that reaches outside the cluster."""

from __future__ import annotations

from typing import Literal

from nestor.api.labels import MANAGED_BY
from nestor.objects import Object, labels_of
from nestor.translate import labels
from nestor.translate.target import Target

Fate = Literal["Synced", "Nested", "Refused"]

FIELDS = ("sessionAffinity", "sessionAffinityConfig", "publishNotReadyAddresses", "internalTrafficPolicy", "trafficDistribution")
"""What is carried as it is, besides ports and selector."""
NO_SELECTOR = "`spec.selector` must be set: Services with manually managed endpoints are not supported"

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
    result: Object = {key: spec[key] for key in FIELDS if key in spec}
    result |= {
        "type": "ClusterIP",
        "selector": labels.host_labels(spec["selector"], rename_all=target.is_shared) | target.scope(meta["namespace"]),
        "ports": [{key: port[key] for key in _PORT_FIELDS if key in port} for port in spec.get("ports") or []],
    }
    if cluster_ip:
        result["clusterIP"] = cluster_ip
    return {"apiVersion": "v1", "kind": "Service", "metadata": target.metadata(service), "spec": result}


def build_successor(service: Object, cluster_ip: str) -> Object:
    """The nested Service again, with a cluster IP that is free on the host: it cannot be changed in place."""
    meta, spec = service["metadata"], service["spec"]
    kept = {key: meta[key] for key in _KEPT if key in meta}
    dropped = ("clusterIP", "clusterIPs", "healthCheckNodePort")
    fresh = {key: value for key, value in spec.items() if key not in dropped}
    return {"apiVersion": "v1", "kind": "Service", "metadata": kept, "spec": fresh | {"clusterIP": cluster_ip}}
