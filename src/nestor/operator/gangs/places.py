"""The places that a gang may go to, and how pods are told: by what labels of nodes must meet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nestor.api import labels
from nestor.api.placement import Backend, NodeRequirement, Placement
from nestor.api.words import HOST
from nestor.objects import Object, labels_of
from nestor.translate.node_rules import select_nodes
from nestor.values import dataclass


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
