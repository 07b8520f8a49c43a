"""What is kept of nodes and pods while it is decided about gangs: users write pods, and memory is shared. Pure."""

from __future__ import annotations

import json
from collections.abc import Container

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, labels_of, spec_of, status_of
from nestor.operator.guests.gangs.observe import TITLE_LIMIT, TOO_LARGE, Cluster, find_cluster
from nestor.pods.translate.gang import GATE, is_held
from nestor.pods.translate.gang_room import REQUIRED, measure

POD_LIMIT = 16 * 1024
"""Bytes as JSON of what is kept of one pod, where ours have one or two thousand."""
CLUSTER_LIMIT = 1024 * 1024
"""The same of all pods of one cluster's gangs, where pods that are alike count once."""

_SPEC = ("nodeName", "containers", "initContainers", "resources", "overhead")
_CONTAINER = ("resources", "restartPolicy")
_NAMES = 64
"""Resources of which a pod that is too large may take some."""
_META = ("name", "namespace", "creationTimestamp", "deletionTimestamp")
_NUMBER = 16
"""Characters of a number that somebody wrote."""


def trim_node(node: Object) -> Object:
    """Where it is, and what it has for pods."""
    meta, spec = node["metadata"], spec_of(node)
    return {
        "metadata": {"name": meta["name"], "labels": labels_of(node)},
        "spec": {key: spec[key] for key in ("taints", "unschedulable") if key in spec},
        "status": {"allocatable": status_of(node).get("allocatable") or {}},
    }


def trim_pod(pod: Object) -> Object:
    """What it takes, and of which node. Of a large one, only the sums."""
    spec = _find_needs(pod)
    if _is_large(spec):
        most = sorted(((name, amount) for name, amount in measure(pod).items() if amount and name != "pods"), key=_find_rank)
        sums = {name: str(amount) for name, amount in most[:_NAMES]}
        spec = {"containers": [{"resources": {"requests": sums}}]} | {key: spec[key] for key in ("nodeName",) if key in spec}
    return {"metadata": {"name": pod["metadata"]["name"]}, "spec": spec, "status": {"phase": status_of(pod).get("phase")}}


def _find_rank(item: tuple[str, object]) -> tuple[bool, str]:
    """Those that all nodes have come first."""
    return "/" in item[0], item[0]


class MemberTrim:
    """Of the pods of gangs of these clusters, what tells their gang and where they may run; of all others, nothing.

    What is too large has lost the latter. It counts how much is kept: use another one for each list.
    """

    def __init__(self, clusters: Container[Cluster]) -> None:
        self._clusters = clusters
        self._kept: dict[Cluster, dict[str, Object]] = {}
        """What pods demand, by how it is written: those of a gang are mostly alike."""
        self._size: dict[Cluster, int] = {}

    def __call__(self, pod: Object) -> Object:
        """What is kept of the pod."""
        where = find_cluster(pod)
        if where not in self._clusters:
            return {"metadata": {}, "spec": {}}
        node = spec_of(pod).get("nodeName")
        spec: Object = ({"nodeName": node} if node else {}) | ({"schedulingGates": [GATE]} if is_held(pod) else {})
        found: Object = {"metadata": _trim_metadata(pod), "status": {"phase": status_of(pod).get("phase")}}
        needs = self._share(where, _find_demands(pod))
        return found | ({"spec": needs | spec} if needs is not None else {"spec": spec, TOO_LARGE: True})

    def _share(self, where: Cluster, needs: Object) -> Object | None:
        """The same, of which there is one; None if it is too large."""
        kept, text = self._kept.setdefault(where, {}), json.dumps(needs, sort_keys=True)
        if text not in kept:
            size = self._size.get(where, 0) + len(text)
            if len(text) > POD_LIMIT or size > CLUSTER_LIMIT:
                return None
            kept[text], self._size[where] = needs, size
        return kept[text]


def _trim_metadata(pod: Object) -> Object:
    meta, notes = pod["metadata"], annotations_of(pod)
    limits = {labels.GANG_NAME: TITLE_LIMIT, labels.GANG_SIZE: _NUMBER, labels.GANG_ROUND: _NUMBER}
    own: Object = {key: meta[key] for key in _META if key in meta}
    own["labels"] = {key: value for key, value in labels_of(pod).items() if key in (labels.CLUSTER, labels.GANG)}
    return own | {"annotations": {key: notes[key][:limit] for key, limit in limits.items() if key in notes}}


def _find_demands(pod: Object) -> Object:
    """What a pod takes of a node, and which nodes it may have."""
    spec = spec_of(pod)
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    found = {key: value for key, value in _find_needs(pod).items() if key != "nodeName"}
    found |= {key: spec[key] for key in ("nodeSelector", "tolerations") if key in spec}
    return found | ({"affinity": {"nodeAffinity": {REQUIRED: required}}} if required else {})


def _find_needs(pod: Object) -> Object:
    spec = {key: value for key, value in spec_of(pod).items() if key in _SPEC}
    for group in ("containers", "initContainers"):
        if group in spec:
            spec[group] = [_trim_container(item) for item in spec[group] or ()]
    return spec


def _trim_container(container: Object) -> Object:
    return {key: container[key] for key in _CONTAINER if key in container}


def _is_large(part: Object) -> bool:
    return len(json.dumps(part)) > POD_LIMIT
