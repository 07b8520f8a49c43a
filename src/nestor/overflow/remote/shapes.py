"""The machines of another cluster as shapes: what they have together, and how pods get there. Pure.

Nodes are of one shape that agree in the shape labels, in the names of their extended resources, and in the taints that keep pods
away which do not use those. They count to it as long as they are ready and take pods; the shape stays while there are any at all,
because a shape that is gone takes its node and the pods on it with it. Nodes with any other taint are reserved for somebody else.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from nestor.api import names
from nestor.api.conditions import is_true
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, spec_of, status_of
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.overflow.remote.build import Machines, pick_extended
from nestor.pods.providers.base import Shape

NAME_LIMIT = 40
_TRANSIENT = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints of these domains say how a node is at the moment."""
_HARD = ("NoSchedule", "NoExecute")
_PLAIN = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})
_RESOURCES, _LARGEST = 64, Decimal(2**63 - 1)


@dataclass(frozen=True)
class Found:
    shape: Shape
    machines: Machines


@dataclass(frozen=True)
class _Key:
    """What the nodes of a shape have in common."""

    labels: tuple[str | None, ...]
    resources: tuple[str, ...]
    taints: tuple[tuple[str, str], ...]


def find_shapes(nodes: Iterable[Object], quotas: Iterable[Object], shape_labels: Sequence[str]) -> list[Found]:
    """The shapes of these nodes. `quotas`: the ResourceQuotas of the namespace, which cap them."""
    groups: dict[_Key, list[Object]] = {}
    for node in nodes:
        key = _read_key(node, shape_labels)
        if key is not None:
            groups.setdefault(key, []).append(node)
    caps = _read_caps(quotas)
    return [_build(key, groups[key], caps, shape_labels) for key in sorted(groups, key=repr)]


def _read_key(node: Object, shape_labels: Sequence[str]) -> _Key | None:
    """None for a node that the pods may not use."""
    resources = pick_extended(status_of(node).get("capacity") or {})
    taints = [item for item in spec_of(node).get("taints") or [] if item.get("effect") in _HARD and not _is_transient(item)]
    if any(item["key"] not in resources or item["effect"] != "NoSchedule" for item in taints):
        return None
    known = labels_of(node)
    values = tuple(known.get(label) for label in shape_labels)
    return _Key(values, tuple(sorted(resources)), tuple(sorted({(item["key"], item.get("value") or "") for item in taints})))


def _is_transient(taint: Object) -> bool:
    return str(taint.get("key")).startswith(_TRANSIENT)


def _is_usable(node: Object) -> bool:
    spec = spec_of(node)
    is_away = spec.get("unschedulable") or is_terminating(node)
    is_closed = any(_is_transient(item) and item.get("effect") in _HARD for item in spec.get("taints") or [])
    return is_true(conditions_of(node), "Ready") and not is_away and not is_closed


def _build(key: _Key, nodes: list[Object], caps: Mapping[str, Decimal], shape_labels: Sequence[str]) -> Found:
    usable = [node for node in nodes if _is_usable(node)]
    # A resource that is not mentioned would stay as it was.
    total = {name: Decimal(0) for node in nodes for name, _ in _read_amounts(status_of(node).get("capacity"))}
    for node in usable:
        for name, amount in _read_amounts(status_of(node).get("allocatable")):
            total[name] = total.get(name, Decimal(0)) + amount
    few = sorted(total, key=lambda name: (name not in _PLAIN, name))[:_RESOURCES]
    capacity = {name: write_quantity(min(total[name], caps.get(name, _LARGEST), _LARGEST)) for name in few}
    pairs = tuple(zip(shape_labels, key.labels, strict=True))
    taints = [{"key": name, "value": value, "effect": "NoSchedule"} for name, value in key.taints]
    labels = {name: value for name, value in pairs if value is not None}
    return Found(Shape(name_shape(key, shape_labels), capacity, labels, taints, len(usable)), Machines(pairs))


def name_shape(key: _Key, shape_labels: Sequence[str]) -> str:
    """The same for the same machines, whatever others there are."""
    exact = json.dumps([shape_labels, key.labels, key.resources, key.taints])
    parts = [*(value for value in key.labels if value), *(name.rpartition("/")[2] for name in key.resources)]
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    return names.join_limited([readable or "node"], names.digest(exact), limit=NAME_LIMIT)


def _read_amounts(amounts: object) -> Iterator[tuple[str, Decimal]]:
    """The resources that a node may have, with amounts that are some."""
    found = amounts if isinstance(amounts, dict) else {}
    extended = pick_extended(found)
    for name, text in found.items():
        if name in _PLAIN or name in extended or name.startswith("hugepages-"):
            amount = _parse(text)
            if amount is not None:
                yield name, amount


def _parse(text: object) -> Decimal | None:
    try:
        amount = parse_quantity(str(text))
    except ValueError:
        return None
    return amount if 0 <= amount <= _LARGEST else None


def _read_caps(quotas: Iterable[Object]) -> dict[str, Decimal]:
    """What all pods of the namespace may have together. Quotas for some of its pods only are met where those are created."""
    caps: dict[str, Decimal] = {}
    for quota in quotas:
        spec = spec_of(quota)
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        for name, text in (spec.get("hard") or {}).items():
            amount, resource = _parse(text), _find_resource(name)
            if amount is not None and resource:
                caps[resource] = min(amount, caps.get(resource, amount))
    return caps


def _find_resource(name: str) -> str:
    """The resource that a quota limits; empty for what nodes do not have."""
    if name in ("pods", "count/pods"):
        return "pods"
    if name.startswith("requests."):
        return name.removeprefix("requests.")
    return name if name in _PLAIN else ""
