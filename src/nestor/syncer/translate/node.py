"""Host nodes as the nested cluster sees them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, labels_of, spec_of, status_of

_OF_KUBERNETES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that follow from a node's state. The nested API server sets one on each new Node; the host's state is the true one."""

CORDONED: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""The taint of nodes that take no new pods. The controller that sets it does not run in nested clusters."""

_INFO = ("capacity", "allocatable", "nodeInfo")


def build_node(host: Object, kubelet_port: int, allocatable: Mapping[str, str] | None = None) -> Object:
    """The nested Node, without what would reveal other tenants: images, volumes, annotations.

    `allocatable`: what the cluster can use of it, if that is not all.
    """
    meta, status = host["metadata"], status_of(host)
    own = {key: value for key, value in (meta.get("labels") or {}).items() if labels.GROUP not in key.partition("/")[0]}
    info = {key: status[key] for key in _INFO if key in status}
    addresses = [item for item in status.get("addresses") or [] if item["type"] in ("InternalIP", "Hostname")]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": meta["name"], "labels": own | {labels.MANAGED_BY: "nestor"}},
        "spec": {"taints": _build_taints(host), "unschedulable": bool(spec_of(host).get("unschedulable"))},
        "status": info
        | ({"allocatable": dict(allocatable)} if allocatable else {})
        | {
            # The real ones, and where the nested API server reaches this node's kubelet: the syncer.
            "addresses": [*addresses, {"type": "InternalDNS", "address": "localhost"}],
            "conditions": [
                {key: value for key, value in item.items() if key != "observedGeneration"}
                for item in status.get("conditions") or []
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
        },
    }


@dataclass(frozen=True)
class Own:
    """What the tenant has added to a nested Node."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    is_cordoned: bool = False

    def __bool__(self) -> bool:
        return bool(self.labels or self.taints or self.is_cordoned)


def build_seal(cluster_uid: str, name: str) -> str:
    """Tells a Node that Nestor has made from one that a tenant has: the UID of the NestedCluster is not known inside."""
    return names.digest(cluster_uid, name, length=16)


def is_sealed(there: Object | None, seal: str) -> bool:
    """Whether Nestor has made this nested Node, as far as it says so itself."""
    return _read_note(there).get("seal") == seal


def add_own(node: Object, there: Object | None, seal: str = "") -> Object:
    """The nested Node with what the tenant has added to it (`there`), and a note of what is the host's.

    Where both set the same, the host's stays.
    """
    meta, spec, own = node["metadata"], node["spec"], find_own(there, node)
    note: Object = {"labels": sorted(meta["labels"]), "taints": sorted(map(_identify, spec["taints"]))}
    if seal:
        note["seal"] = seal
    taints, is_unschedulable = [*spec["taints"], *own.taints], spec["unschedulable"] or own.is_cordoned
    if is_unschedulable:
        note["unschedulable"] = True
    if own.is_cordoned:
        note["cordoned"] = True
        if _identify(CORDONED) not in map(_identify, taints):
            taints.append(CORDONED)
    meta = meta | {
        "labels": {**own.labels, **meta["labels"]},
        "annotations": {labels.MIRRORED: json.dumps(note, separators=(",", ":"))},
    }
    return node | {"metadata": meta, "spec": {"taints": taints, "unschedulable": is_unschedulable}}


def find_own(there: Object | None, node: Object | None = None) -> Own:
    """What the tenant has added to the nested Node `there`. `node`: what the host says now, if that is known."""
    note = _read_note(there)
    if not note:
        return Own()
    mirrored, known = {*note["labels"], *labels_of(node)}, [*note["taints"], *map(_identify, spec_of(node).get("taints") or [])]
    taints = [item for item in spec_of(there).get("taints") or [] if not item["key"].startswith(_OF_KUBERNETES)]
    is_unschedulable = bool(spec_of(there).get("unschedulable"))
    has_changed = is_unschedulable != note.get("unschedulable", False)
    return Own(
        {key: value for key, value in labels_of(there).items() if key not in mirrored},
        tuple(item for item in taints if _identify(item) not in known),
        is_unschedulable if has_changed else note.get("cordoned", False),
    )


def _read_note(there: Object | None) -> Object:
    """The note in a nested Node; empty if there is none, or if the tenant has made something else of it."""
    try:
        note = json.loads(annotations_of(there).get(labels.MIRRORED) or "null")
        if not note:
            return {}
        keys, taints = ([*note[part]] for part in ("labels", "taints"))
        return {**note, "labels": [key for key in keys if isinstance(key, str)], "taints": taints}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}


def _identify(taint: Object) -> list[Any]:
    return [taint["key"], taint.get("effect", "")]


def _build_taints(host: Object) -> list[Object]:
    """The host's taints, for nested DaemonSets. The host itself ends pods for them: the nested cluster's own controller, which
    does so for the tenant's taints, must not, because it does not know what its class lets pods tolerate.
    """
    found: dict[tuple[str, str], Object] = {}
    for item in spec_of(host).get("taints") or []:
        effect = "NoSchedule" if item.get("effect") == "NoExecute" else item.get("effect", "")
        mapped = {key: value for key, value in item.items() if key != "timeAdded"} | {"effect": effect}
        found.setdefault((item["key"], effect), mapped if effect != item.get("effect", "") else item)
    return list(found.values())
