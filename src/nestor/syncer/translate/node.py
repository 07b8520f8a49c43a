"""Host nodes as the nested cluster sees them."""

from __future__ import annotations

import json
from typing import Any

from nestor.api import labels
from nestor.objects import Object, annotations_of, labels_of, spec_of, status_of

_OF_KUBERNETES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that follow from a node's state. The nested API server sets one on each new Node; the host's state is the true one."""

_INFO = ("capacity", "allocatable", "nodeInfo")


def build_node(host: Object, kubelet_port: int) -> Object:
    """The nested Node, without what would reveal other tenants: images, volumes, annotations."""
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


def add_own(node: Object, there: Object | None) -> Object:
    """The nested Node with the labels and taints that the tenant has added to it (`there`), and a note of the host's.

    Where both set the same, the host's stays.
    """
    meta, spec = node["metadata"], node["spec"]
    note = {"labels": sorted(meta["labels"]), "taints": sorted(map(_identify, spec["taints"]))}
    own, taints = find_own(node, there)
    meta = meta | {"labels": own | meta["labels"], "annotations": {labels.MIRRORED: json.dumps(note, separators=(",", ":"))}}
    return node | {"metadata": meta, "spec": spec | {"taints": [*spec["taints"], *taints]}}


def find_own(node: Object, there: Object | None) -> tuple[dict[str, str], list[Object]]:
    """The labels and taints of the nested Node `there` that the tenant has added: `node` is what the host says."""
    note: Object = json.loads(annotations_of(there).get(labels.MIRRORED) or "null") or {}
    if not note:
        return {}, []  # new, or made by an earlier version, which removed what others added
    mirrored = {*note["labels"], *node["metadata"]["labels"]}
    known = [*note["taints"], *map(_identify, node["spec"]["taints"])]
    taints = [item for item in spec_of(there).get("taints") or [] if not item["key"].startswith(_OF_KUBERNETES)]
    own = {key: value for key, value in labels_of(there).items() if key not in mirrored}
    return own, [item for item in taints if _identify(item) not in known]


def find_ignored(node: Object, there: Object) -> str | None:
    """What of the tenant's own labels and taints has no effect; None if there are none."""
    own, taints = find_own(node, there)
    names = [*(f"label '{key}'" for key in sorted(own)), *(f"taint '{item['key']}'" for item in taints)]
    if not names:
        return None
    return f"{', '.join(names)}: kept, but the host cluster's scheduler, which places all pods, does not know of it"


def _identify(taint: Object) -> list[Any]:
    return [taint["key"], taint.get("effect", "")]


def _spec(host: Object) -> Object:
    """Taints and `unschedulable`, for nested DaemonSets; scheduling is left to the host."""
    spec = spec_of(host)
    return {"taints": spec.get("taints") or [], "unschedulable": bool(spec.get("unschedulable"))}


def _addresses(status: Object) -> list[Object]:
    """The real addresses, plus `localhost`, where the nested API server reaches this node's kubelet: the syncer."""
    real = [item for item in status.get("addresses") or [] if item["type"] in ("InternalIP", "Hostname")]
    return [*real, {"type": "InternalDNS", "address": "localhost"}]


def _conditions(status: Object) -> list[Object]:
    return [{key: value for key, value in item.items() if key != "observedGeneration"} for item in status.get("conditions") or []]
