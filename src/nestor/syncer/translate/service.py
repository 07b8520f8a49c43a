"""Turns nested Services into host Services: same cluster IP, same pods, nothing that reaches outside the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from nestor.api.labels import CLUSTER, NESTED_NAMESPACE
from nestor.objects import Object, conditions_of, is_terminating, labels_of
from nestor.translate import labels
from nestor.translate.status import is_terminal
from nestor.translate.target import Target

Fate = Literal["Synced", "Nested", "Refused"]

FIELDS = ("sessionAffinity", "sessionAffinityConfig", "publishNotReadyAddresses", "internalTrafficPolicy", "trafficDistribution")
"""Fields copied unchanged, in addition to ports and selector."""
NO_SELECTOR = "`spec.selector` must be set: Services with manually managed endpoints are not supported"

_OWN = (("default", "kubernetes"), ("kube-system", "kube-dns"))
"""Of the API server, and of the syncer for DNS: both have their host Service already, made by the operator."""
_OUTWARD = ("NodePort", "LoadBalancer")
_KEPT = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_PORT_FIELDS = ("name", "protocol", "port", "targetPort", "appProtocol")


def decide_fate(service: Object) -> Fate:
    """Whether a nested Service gets a host Service, exists only in the nested cluster and its DNS, or is refused.

    A Service without a selector has endpoints written by the tenant. On the host, they could point anywhere.
    """
    meta, spec = service["metadata"], service["spec"]
    if (meta["namespace"], meta["name"]) in _OWN:
        return "Nested"
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") in (None, "", "None"):
        return "Nested"
    return "Synced" if spec.get("selector") else "Refused"


def find_ignored(service: Object) -> list[str]:
    """One message per field that has no effect: the host Service is always of type ClusterIP, and has one address."""
    spec = service["spec"]
    kind, addresses, further = spec.get("type"), spec.get("externalIPs"), (spec.get("clusterIPs") or [])[1:]
    found = []
    if kind in _OUTWARD:
        found.append(f"`spec.type` is '{kind}', but the Service is reached inside the nested cluster only, at its cluster IP")
    if addresses:
        found.append(f"`spec.externalIPs` has {', '.join(addresses)}, but external addresses are not supported")
    if further:
        found.append(f"`spec.clusterIPs` has {', '.join(further)}, but only the first address is served")
    return found


def build_service(service: Object, target: Target, cluster_ip: str | None) -> Object:
    """The host Service. `cluster_ip` None lets the host choose one."""
    meta, spec = service["metadata"], service["spec"]
    result: Object = {key: spec[key] for key in FIELDS if key in spec}
    result |= {
        "type": "ClusterIP",
        "selector": labels.host_labels(spec["selector"], target.allowed_labels) | target.scope(meta["namespace"]),
        "ports": [{key: port[key] for key in _PORT_FIELDS if key in port} for port in spec.get("ports") or []],
    }
    if cluster_ip:
        result["clusterIP"] = cluster_ip
    return {"apiVersion": "v1", "kind": "Service", "metadata": target.metadata(service), "spec": result}


def choose_selector(
    there: Mapping[str, str], wanted: Mapping[str, str], service: Object, pods: Iterable[Object]
) -> Mapping[str, str]:
    """The host Service's selector: `wanted`, or for a while still the one that it has (`there`).

    Both may spell the tenant's selector differently, because the class allows other labels since, or after an upgrade. Until the
    running pods have their labels in the new spelling too, the old one must stay, or the Service would lose them.
    """
    scope = {key: there.get(key) for key in wanted if key in (CLUSTER, NESTED_NAMESPACE)}
    own = {key: value for key, value in there.items() if key not in scope}
    if there == wanted or scope.items() - wanted.items() or not labels.is_spelling(own, service["spec"]["selector"]):
        return wanted
    live = [pod for pod in pods if not is_terminating(pod) and not is_terminal(pod)]
    lost = any(_selects(there, pod) and not _selects(wanted, pod) for pod in live)
    gained = any(_selects(wanted, pod) and not _selects(there, pod) and _is_ready(pod) for pod in live)
    return there if lost and not gained else wanted


def _selects(selector: Mapping[str, str], pod: Object) -> bool:
    return selector.items() <= labels_of(pod).items()


def _is_ready(pod: Object) -> bool:
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions_of(pod))


def build_successor(service: Object, cluster_ip: str) -> Object:
    """The nested Service with a cluster IP that is free on the host, to be recreated: the IP is immutable."""
    meta, spec = service["metadata"], service["spec"]
    kept = {key: meta[key] for key in _KEPT if key in meta}
    dropped = ("clusterIP", "clusterIPs", "healthCheckNodePort")
    fresh = {key: value for key, value in spec.items() if key not in dropped}
    return {"apiVersion": "v1", "kind": "Service", "metadata": kept, "spec": fresh | {"clusterIP": cluster_ip}}
