"""Which of the host's nodes a nested cluster shows although no pod of it is there, by what its class says."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api import data, labels
from nestor.api.placement import NodeRequirement, Placement
from nestor.api.policy import Policy
from nestor.api.selectors import LabelSelector
from nestor.objects import Object, labels_of
from nestor.translate.gang_room import Room, is_met
from nestor.translate.labels import is_match
from nestor.translate.node_rules import find_backend

_WORDS = {"In": "in", "NotIn": "notin"}


def find_selector(policy: Policy) -> str | None:
    """The label selector by which to ask for the nodes to show; None if only those in use are shown.

    It may let more through than `is_shown` does: label selectors cannot compare numbers.
    """
    if policy.nodes is None:
        return None
    return ",".join([*_write(policy.node_selector), *_write_rules(policy.places), f"!{labels.BACKEND}"])


def is_shown(node: Object, policy: Policy) -> bool:
    """Whether a node is shown although no pod of the cluster is there: the class shows it, and lets pods run on it."""
    if policy.nodes is None:
        return False
    own, places = labels_of(node), policy.places
    selector = data.write(policy.node_selector) if policy.node_selector else {}
    rules = [data.write(item) for item in places.required_nodes]
    room = Room(node["metadata"]["name"], own, (), {})
    is_allowed = places.node_selector.items() <= own.items() and all(is_met({"matchExpressions": [item]}, room) for item in rules)
    return is_allowed and is_match(selector, own) and find_backend(node, places) is None


def _write(selector: LabelSelector | None) -> Iterator[str]:
    if selector is not None:
        yield from _write_pairs(selector.match_labels or {})
        yield from (_write_requirement(item.key, item.operator, item.values) for item in selector.match_expressions or [])


def _write_rules(places: Placement) -> Iterator[str]:
    yield from _write_pairs(places.node_selector)
    yield from (_write_requirement(item.key, item.operator, item.values) for item in places.required_nodes if _is_simple(item))


def _is_simple(item: NodeRequirement) -> bool:
    return item.operator not in ("Gt", "Lt")


def _write_pairs(pairs: dict[str, str]) -> Iterator[str]:
    yield from (f"{key}={value}" for key, value in sorted(pairs.items()))


def _write_requirement(key: str, operator: str, values: list[str] | None) -> str:
    if operator in _WORDS:
        return f"{key} {_WORDS[operator]} ({','.join(values or [])})"
    return key if operator == "Exists" else f"!{key}"
