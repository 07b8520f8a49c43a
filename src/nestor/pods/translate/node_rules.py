"""The nodes on which a pod may run, by its class, its job and its place; and which of its own wishes contradict that."""

import itertools
import math
from collections.abc import Iterator

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.api.placement import Backend, Placement
from nestor.pods.translate.labels import is_listed
from nestor.pods.translate.placement import Place, find_rules

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
"""Keys of an affinity."""
_FEW_WAYS = 8
"""For so many ways in which a node may differ from those of backends, the preferences of pods are spelled out."""


def list_required(spec: Object) -> list[Object]:
    """The terms of a pod's node affinity of which a node must meet one; empty if any node will do."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []


def build_node_selector(pod: Object, placement: Placement, place: Place) -> dict[str, str]:
    """The host pod's node selector: the pod's own, and, if it can only stay, what class, job and its resources demand.

    They demand it of the host cluster's own nodes: those of backends need not have the same labels.
    """
    demanded = {} if place.backends else _find_demanded(pod, placement)
    return {**(pod["spec"].get("nodeSelector") or {}), **demanded}


def build_node_affinity(pod: Object, placement: Placement, place: Place) -> Object:
    """The host pod's node affinity: the pod's own, limited to what may be, and with what is preferred."""
    own: Object = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    result = dict(own)
    node = pod["spec"].get("nodeName")
    # The host's scheduler still places a pod that names its node.
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}] if node else []
    choices = _find_choices(pod, placement, place)
    if fields or any(choices):
        terms = list_required(pod["spec"]) or [{}]
        result[REQUIRED] = {"nodeSelectorTerms": [_narrow(term, choice, fields) for term in terms for choice in choices]}
    wished = own.get(PREFERRED) or []
    if place.where == "HostFirst" and wished:
        wished = list(_limit_to_own(wished, place.backends))
        result.pop(PREFERRED)
    if preferences := [*wished, *_find_preferences(place, placement)]:
        result[PREFERRED] = preferences
    return result


def _limit_to_own(wished: list[Object], backends: tuple[Backend, ...]) -> Iterator[Object]:
    """What a pod prefers, among the host cluster's own nodes alone: otherwise many wishes would outweigh that it is to stay."""
    ways: list[list[Object]] = [
        [{"key": key, "operator": "NotIn", "values": [value]} for key, value in sorted(select_nodes(backend).items())]
        for backend in backends
    ]
    if math.prod(len(way) for way in ways) <= _FEW_WAYS:
        for item, way in itertools.product(wished, itertools.product(*ways)):
            yield item | {"preference": _narrow(item.get("preference") or {}, list(way), [])}


def _narrow(term: Object, expressions: list[Object], fields: list[Object]) -> Object:
    more = {"matchExpressions": expressions, "matchFields": fields}
    return term | {key: [*(term.get(key) or []), *found] for key, found in more.items() if found}


def _find_demanded(pod: Object, placement: Placement) -> dict[str, str]:
    found = dict(placement.node_selector)
    for item in find_rules(pod, placement):
        found |= item.node_selector
    return found


def _find_choices(pod: Object, placement: Placement, place: Place) -> list[list[Object]]:
    """Requirements of which one list must be met: by the host cluster's own nodes, or by those of a backend."""
    away = [_require(select_nodes(backend)) for backend in place.backends]
    if place.where == "Backend":
        return away
    if _names_node(pod):
        away = []  # under `WhenFull`, the node of a backend is not the pod's to choose
    own: list[Object] = [{"key": labels.BACKEND, "operator": "DoesNotExist"}] if placement.overflow is not None else []
    if place.backends:
        own += _require(_find_demanded(pod, placement))
    return [own, *away]


def _names_node(pod: Object) -> bool:
    fields = (item for term in list_required(pod["spec"]) for item in term.get("matchFields") or [])
    return bool(pod["spec"].get("nodeName")) or any(item["operator"] == "In" for item in fields)


def _find_preferences(place: Place, placement: Placement) -> Iterator[Object]:
    if place.where == "HostFirst":
        yield from _prefer_own(place.backends)
    if len(place.backends) > 1:
        # Below the preference for the host cluster's own nodes, whatever the weight.
        share = 2 if place.where == "HostFirst" else 1
        for backend in place.backends:
            yield {"weight": max(1, backend.weight // share), "preference": {"matchExpressions": _require(select_nodes(backend))}}


def _prefer_own(backends: tuple[Backend, ...]) -> Iterator[Object]:
    """One term for each label, because a node is no backend's as soon as one of the labels differs."""
    values: dict[str, set[str]] = {}
    for backend in backends:
        for key, value in select_nodes(backend).items():
            values.setdefault(key, set()).add(value)
    for key in sorted(values):
        other = {"key": key, "operator": "NotIn", "values": sorted(values[key])}
        yield {"weight": 100, "preference": {"matchExpressions": [other]}}


def select_nodes(backend: Backend) -> dict[str, str]:
    """Labels of its virtual nodes."""
    return backend.node_selector or {labels.BACKEND: backend.name}


def _require(selector: dict[str, str]) -> list[Object]:
    return [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(selector.items())]


def find_backend(node: Object, placement: Placement) -> str | None:
    """The backend that a node belongs to: one that the rules name, or any OverflowBackend. None for the host's own nodes."""
    found = labels_of(node)
    named = placement.overflow.backends if placement.overflow else []
    matching = (backend.name for backend in named if select_nodes(backend).items() <= found.items())
    return next(matching, None) or found.get(labels.BACKEND)


def check_wishes(pod: Object, placement: Placement) -> Iterator[str]:
    """One message per wish about nodes that the class does not allow, or that contradicts it."""
    own: dict[str, str] = pod["spec"].get("nodeSelector") or {}
    allowed = placement.allowed_node_labels
    if allowed is None:
        # They tell the nodes of backends, and the class says which pods run there.
        for path, key in _list_keys(pod["spec"]):
            if labels.is_ours(key):
                yield f"`{path}` must not contain '{key}': the class does not allow it"
    else:
        listed = ", ".join(f"'{item}'" for item in allowed) or "none"
        for path, key in _list_keys(pod["spec"]):
            if not is_listed(key, allowed):
                yield f"`{path}` must not contain '{key}': the class allows {listed}"
    for key, value in sorted(_find_demanded(pod, placement).items()):
        if own.get(key, value) != value:
            yield f"`spec.nodeSelector` must not have '{own[key]}' for '{key}': the pod has to run on nodes with '{value}'"


def _list_keys(spec: Object) -> Iterator[tuple[str, str]]:
    """The labels of nodes that a pod asks for, each with the path of its field."""
    yield from (("spec.nodeSelector", key) for key in sorted(spec.get("nodeSelector") or {}))
    wished = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(PREFERRED) or []
    terms = [*list_required(spec), *(item.get("preference") or {} for item in wished)]
    keys = {item["key"] for term in terms for item in term.get("matchExpressions") or []}
    yield from (("spec.affinity.nodeAffinity", key) for key in sorted(keys))
