"""Gangs as they are: their host pods, what was decided of them before, and the places that they may go to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nestor.api import labels
from nestor.api.nestedcluster import GANGS_LIMIT
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, status_of
from nestor.api.observed import GangStatus
from nestor.api.placement import Backend, NodeRequirement, Placement
from nestor.api.policy import Policy
from nestor.api.words import HOST
from nestor.pods.translate.gang import is_held, read_entries
from nestor.pods.translate.gang_claims import read_size
from nestor.pods.translate.node_rules import select_nodes

Cluster = tuple[str, str]
"""Namespace and name of a NestedCluster."""

TITLE_LIMIT = 512
"""Characters of a gang's name, as its status has them."""
TOO_LARGE = "tooLarge"
"""Key of a pod that demands too much of nodes to be kept."""


@dataclass(frozen=True)
class Seen:
    """A gang and its host pods."""

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
        """Its name, for people."""
        return annotations_of(self.pods[0]).get(labels.GANG_NAME, self.name)[:TITLE_LIMIT]

    @property
    def size(self) -> int:
        """How many pods it has to have: as its newest pod says."""
        newest = max(self.pods, key=age)
        return read_size(annotations_of(newest).get(labels.GANG_SIZE)) or 1

    @property
    def held(self) -> list[Object]:
        """Its pods that are held, oldest first."""
        return sorted((pod for pod in self.pods if is_held(pod) and not is_terminating(pod)), key=age)

    @property
    def loose(self) -> list[Object]:
        """Those that were let go and have not ended."""
        return [pod for pod in self.pods if not is_held(pod) and not is_terminating(pod) and not _has_ended(pod)]

    @property
    def done(self) -> list[Object]:
        """Those that have succeeded."""
        return [pod for pod in self.pods if not is_terminating(pod) and status_of(pod).get("phase") == "Succeeded"]

    def count_placed(self, number: int) -> int:
        """How many have got nodes since they were let go in a round, whatever became of them."""
        mine = {labels.GANG_ROUND: str(number)}.items()
        return sum(bool(pod["spec"].get("nodeName")) and mine <= annotations_of(pod).items() for pod in self.pods)


def age(pod: Object) -> tuple[str, str]:
    """Orders pods, the oldest first."""
    return pod["metadata"].get("creationTimestamp") or "", pod["metadata"]["name"]


def _has_ended(pod: Object) -> bool:
    return status_of(pod).get("phase") in ("Succeeded", "Failed")


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
        found += sorted(seen, key=_find_seniority)[:GANGS_LIMIT]
    return found


def _find_seniority(seen: Seen) -> tuple[bool, tuple[str, str]]:
    return seen.entry is None, min(age(pod) for pod in seen.pods)


# The places that a gang may go to, and how pods are told: by what labels of nodes must meet.


@dataclass(frozen=True)
class PlaceNodes:
    """A set of nodes of which one gang uses no others."""

    name: str
    nodes: list[NodeRequirement]


def list_places(placement: Placement, nodes: Sequence[Object]) -> list[PlaceNodes]:
    """The host cluster's own nodes, then the backends, the most preferred first. Pods may be barred from some of them."""
    overflow = placement.overflow
    if overflow is None:
        return [PlaceNodes(HOST, [])]
    backends = sorted(overflow.backends, key=lambda item: -item.weight)
    own = [NodeRequirement(key=labels.BACKEND, operator="DoesNotExist"), *_exclude(backends, nodes)]
    return [PlaceNodes(HOST, own), *(PlaceNodes(item.name, _require(select_nodes(item))) for item in backends)]


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
