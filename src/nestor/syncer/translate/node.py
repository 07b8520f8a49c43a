"""Host nodes as the nested cluster sees them."""

from __future__ import annotations

from nestor.api import labels
from nestor.objects import Object, labels_of, spec_of, status_of

_INFO = ("capacity", "allocatable", "nodeInfo")


def build_node(host: Object, kubelet_port: int) -> Object:
    """The nested Node. Left out is what tells a tenant about others on the node: images, volumes, annotations."""
    meta, status = host["metadata"], status_of(host)
    own = {key: value for key, value in (meta.get("labels") or {}).items() if labels.GROUP not in key.partition("/")[0]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": meta["name"], "labels": own | {labels.MANAGED_BY: "nestor"}},
        "spec": build_spec(host),
        "status": {key: status[key] for key in _INFO if key in status}
        | {
            "addresses": _addresses(status),
            "conditions": _conditions(status),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
        },
    }


def is_ours(nested: Object) -> bool:
    """True for Nodes that the syncer made; a tenant may run virtual nodes of its own."""
    return labels_of(nested).get(labels.MANAGED_BY) == "nestor"


def build_spec(host: Object) -> Object:
    """Taints and cordon, for nested DaemonSets; nothing is scheduled by them."""
    spec = spec_of(host)
    return {"taints": spec.get("taints") or [], "unschedulable": bool(spec.get("unschedulable"))}


def is_current(nested: Object, desired: Object) -> bool:
    """True when the nested Node says what `desired` says, heartbeats aside."""
    there = labels_of(nested)
    if any(there.get(key) != value for key, value in desired["metadata"]["labels"].items()):
        return False
    if build_spec(nested) != desired["spec"]:
        return False
    now, wanted = status_of(nested), desired["status"]
    same = all(now.get(key) == wanted[key] for key in wanted if key != "conditions")
    return same and _silent(now.get("conditions")) == _silent(wanted["conditions"])


def _addresses(status: Object) -> list[Object]:
    """The real addresses, and the one by which the nested API server reaches this node's kubelet: the syncer beside it."""
    real = [item for item in status.get("addresses") or [] if item["type"] in ("InternalIP", "Hostname")]
    return [*real, {"type": "InternalDNS", "address": "localhost"}]


def _conditions(status: Object) -> list[Object]:
    return [{key: value for key, value in item.items() if key != "observedGeneration"} for item in status.get("conditions") or []]


def _silent(conditions: list[Object] | None) -> list[Object]:
    return [{key: value for key, value in item.items() if key != "lastHeartbeatTime"} for item in conditions or []]
