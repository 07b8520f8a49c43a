"""Gangs as they are: what is kept of nodes and pods, what was decided of them before, and the places they may go to. Pure."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nestor.api import labels, pod_status
from nestor.api.nestedcluster import GANGS_LIMIT
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of, status_of
from nestor.api.observed import GangStatus
from nestor.api.placement import Backend, NodeRequirement, Placement
from nestor.api.policy import Policy
from nestor.api.quantities import write_quantity
from nestor.api.words import HOST
from nestor.pods.translate.gang import GATE, is_held, read_entries, read_size
from nestor.pods.translate.gang_room import measure
from nestor.pods.translate.node_rules import REQUIRED, select_nodes

Cluster = tuple[str, str]
"""Namespace and name of a NestedCluster."""

TITLE_LIMIT = 512
"""Characters of a gang's name, as its status has them."""
TOO_LARGE = "tooLarge"
"""Key of a pod that demands too much of nodes to be kept."""


@dataclass(frozen=True)
class Seen:
    namespace: str
    cluster: str
    name: str
    pods: Sequence[Object]
    """At least one."""
    placement: Placement
    entry: GangStatus | None = None
    """What was decided before."""

    @property
    def title(self) -> str:
        return annotations_of(self.pods[0]).get(labels.GANG_NAME, self.name)[:TITLE_LIMIT]

    @property
    def size(self) -> int:
        """How many pods it has to have: as its newest pod says."""
        newest = max(self.pods, key=age)
        return read_size(annotations_of(newest).get(labels.GANG_SIZE)) or 1

    @property
    def held(self) -> list[Object]:
        return sorted((pod for pod in self.pods if is_held(pod) and not is_terminating(pod)), key=age)

    @property
    def loose(self) -> list[Object]:
        """Those that were let go and have not ended."""
        return [pod for pod in self.pods if not is_held(pod) and not is_terminating(pod) and not pod_status.is_terminal(pod)]

    @property
    def done(self) -> list[Object]:
        return [pod for pod in self.pods if not is_terminating(pod) and status_of(pod).get("phase") == "Succeeded"]

    def count_placed(self, number: int) -> int:
        """How many have got nodes since they were let go in a round, whatever became of them."""
        mine = {labels.GANG_ROUND: str(number)}.items()
        return sum(bool(pod["spec"].get("nodeName")) and mine <= annotations_of(pod).items() for pod in self.pods)


def age(pod: Object) -> tuple[str, str]:
    """Orders pods, the oldest first."""
    return pod["metadata"].get("creationTimestamp") or "", pod["metadata"]["name"]


def find_cluster(pod: Object) -> Cluster:
    """The cluster that a host pod says it is of."""
    return pod["metadata"].get("namespace", ""), labels_of(pod).get(labels.CLUSTER, "")


def list_clusters(clusters: Iterable[Object], pods: Iterable[Object]) -> dict[Cluster, Object]:
    """Those of the clusters of which some of the pods are, and whose classes have gangs."""
    wanted = {find_cluster(pod) for pod in pods if labels.GANG in labels_of(pod)}
    found = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in clusters if wanted}
    return {key: item for key, item in found.items() if key in wanted and Policy.read(item).places.gang is not None}


def find_gangs(pods: Iterable[Object], clusters: Mapping[Cluster, Object]) -> list[Seen]:
    """The gangs of these clusters. Of each cluster, only so many: those that are known already, then the oldest.

    A gang without pods is none any more.
    """
    members: dict[Cluster, dict[str, list[Object]]] = {}
    for pod in pods:
        where = find_cluster(pod)
        if where in clusters and (name := labels_of(pod).get(labels.GANG)):
            members.setdefault(where, {}).setdefault(name, []).append(pod)
    found = []
    for where, gangs in members.items():
        entries, placement = read_entries(clusters[where]), Policy.read(clusters[where]).places
        seen = [Seen(*where, name, items, placement, entries.get(name)) for name, items in gangs.items()]
        found += sorted(seen, key=lambda each: (each.entry is None, min(age(pod) for pod in each.pods)))[:GANGS_LIMIT]
    return found


def list_places(placement: Placement, nodes: Sequence[Object]) -> dict[str, list[NodeRequirement]]:
    """By their names, what nodes of a place meet, of which one gang uses no others: the host cluster's own, then the backends',
    the most preferred first. Pods may be barred from some of them.
    """
    overflow = placement.overflow
    if overflow is None:
        return {HOST: []}
    backends = sorted(overflow.backends, key=lambda item: -item.weight)
    own = [NodeRequirement(key=labels.BACKEND, operator="DoesNotExist"), *_exclude(backends, nodes)]
    return {HOST: own} | {item.name: _require(select_nodes(item)) for item in backends}


def describe(name: str) -> str:
    """A place in words."""
    return "the host cluster" if name == HOST else f"backend '{name}'"


def _require(selector: dict[str, str]) -> list[NodeRequirement]:
    return [NodeRequirement(key=key, operator="In", values=[value]) for key, value in sorted(selector.items())]


def _exclude(backends: Iterable[Backend], nodes: Sequence[Object]) -> Iterable[NodeRequirement]:
    """Requirements that no node of these backends meets, for those whose nodes are not Nestor's.

    Of several labels that together make a node one of a backend's, one must do here: the one that fewest other nodes have.
    """
    for backend in backends:
        selector = select_nodes(backend)
        if labels.BACKEND not in selector:
            others = [node for node in nodes if not selector.items() <= labels_of(node).items()]
            key = min(sorted(selector), key=lambda item: sum(labels_of(node).get(item) == selector[item] for node in others))
            yield NodeRequirement(key=key, operator="NotIn", values=[selector[key]])


POD_LIMIT = 16 * 1024
"""Bytes as JSON of what is kept of one pod of a gang, where ours have one or two thousand."""
CLUSTER_LIMIT = 1024 * 1024
"""The same of all pods of one cluster's gangs, where pods that are alike count once."""

_SPEC = ("containers", "initContainers", "resources", "overhead", "nodeSelector", "tolerations")
_CONTAINER = ("resources", "restartPolicy")
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
    """What it takes in all, and of which node."""
    requests = {name: write_quantity(amount) for name, amount in measure(pod).items() if amount and name != "pods"}
    spec = {"containers": [{"resources": {"requests": requests}}], "nodeName": spec_of(pod).get("nodeName")}
    return {"metadata": {"name": pod["metadata"]["name"]}, "spec": spec, "status": {"phase": status_of(pod).get("phase")}}


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
    found = {key: spec[key] for key in _SPEC if key in spec}
    for group in ("containers", "initContainers"):
        if group in found:
            found[group] = [{key: item[key] for key in _CONTAINER if key in item} for item in found[group] or ()]
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    return found | ({"affinity": {"nodeAffinity": {REQUIRED: required}}} if required else {})
