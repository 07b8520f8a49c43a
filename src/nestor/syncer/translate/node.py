"""Host nodes as the nested cluster sees them."""

from __future__ import annotations

from nestor.api import labels
from nestor.objects import Object, spec_of, status_of

_INFO = ("capacity", "allocatable", "nodeInfo")


def build_node(host: Object, kubelet_port: int) -> Object:
    """The nested Node. Left out is what tells a tenant about others on the node: images, volumes, annotations."""
    meta, status = host["metadata"], status_of(host)
    own = {key: value for key, value in (meta.get("labels") or {}).items() if labels.GROUP not in key.partition("/")[0]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": meta["name"], "labels": own | {labels.MANAGED_BY: "nestor"}},
        "spec": _spec(host),
        "status": {key: status[key] for key in _INFO if key in status}
        | {
            "addresses": _addresses(status),
            "conditions": _conditions(status),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
        },
    }


def _spec(host: Object) -> Object:
    """Taints and cordon, for nested DaemonSets; nothing is scheduled by them."""
    spec = spec_of(host)
    return {"taints": spec.get("taints") or [], "unschedulable": bool(spec.get("unschedulable"))}


def _addresses(status: Object) -> list[Object]:
    """The real addresses, and the one by which the nested API server reaches this node's kubelet: the syncer beside it."""
    real = [item for item in status.get("addresses") or [] if item["type"] in ("InternalIP", "Hostname")]
    return [*real, {"type": "InternalDNS", "address": "localhost"}]


def _conditions(status: Object) -> list[Object]:
    return [{key: value for key, value in item.items() if key != "observedGeneration"} for item in status.get("conditions") or []]
