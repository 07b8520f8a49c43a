"""Scheduling fields of host pods: the tenant's rules, limited to its own pods and to what its class allows."""

from __future__ import annotations

from collections.abc import Mapping

from nestor.api.labels import NESTED_NAMESPACE
from nestor.api.objects import Object, labels_of
from nestor.api.placement import Placement
from nestor.pods.translate import labels, node_rules, tolerations
from nestor.pods.translate.placement import Place
from nestor.pods.translate.target import Target

Namespaces = Mapping[str, Mapping[str, str]]
"""The nested namespaces and their labels."""


def build_scheduling(pod: Object, target: Target, namespaces: Namespaces, placement: Placement, place: Place) -> Object:
    """The scheduling fields of the host pod's spec."""
    spec = pod["spec"]
    result: Object = {"tolerations": tolerations.build_tolerations(pod, placement, place)}
    if selector := node_rules.build_node_selector(pod, placement, place):
        result["nodeSelector"] = selector
    if affinity := _affinity(pod, target, namespaces, placement, place):
        result["affinity"] = affinity
    if spread := [_spread(item, pod, target) for item in spec.get("topologySpreadConstraints") or []]:
        result["topologySpreadConstraints"] = spread
    return result | _names(pod, placement)


def _names(pod: Object, placement: Placement) -> Object:
    """What has a name in the host cluster; nothing where the host's default is right."""
    spec = pod["spec"]
    found = {
        "schedulerName": placement.schedulers.find(spec.get("schedulerName")),
        "priorityClassName": placement.priority_classes.find(spec.get("priorityClassName")),
        "runtimeClassName": placement.runtime_classes.find(spec.get("runtimeClassName")),
    }
    return {field: name for field, name in found.items() if name is not None}


def _affinity(pod: Object, target: Target, namespaces: Namespaces, placement: Placement, place: Place) -> Object:
    own = pod["spec"].get("affinity") or {}
    result = {}
    if node := node_rules.build_node_affinity(pod, placement, place):
        result["nodeAffinity"] = node
    for kind in ("podAffinity", "podAntiAffinity"):
        if part := own.get(kind):
            result[kind] = _pod_affinity(part, pod, target, namespaces)
    return result


def _pod_affinity(own: Object, pod: Object, target: Target, namespaces: Namespaces) -> Object:
    result: Object = {}
    if required := own.get("requiredDuringSchedulingIgnoredDuringExecution"):
        result["requiredDuringSchedulingIgnoredDuringExecution"] = [_term(item, pod, target, namespaces) for item in required]
    if preferred := own.get("preferredDuringSchedulingIgnoredDuringExecution"):
        result["preferredDuringSchedulingIgnoredDuringExecution"] = [
            item | {"podAffinityTerm": _term(item["podAffinityTerm"], pod, target, namespaces)} for item in preferred
        ]
    return result


def _term(term: Object, pod: Object, target: Target, namespaces: Namespaces) -> Object:
    result: Object = {"topologyKey": term["topologyKey"]}
    selector = term.get("labelSelector")
    if selector is None:  # matches no pod, in either cluster
        return result
    wanted = _namespaces(term, pod, namespaces)
    one = wanted[0] if wanted is not None and len(wanted) == 1 else None
    found = labels.host_selector(_merged(selector, term, pod), target.scope(one), target.allowed_labels)
    if wanted is not None and one is None:
        restriction = {"key": NESTED_NAMESPACE, "operator": "In", "values": wanted or ["-"]}
        found.setdefault("matchExpressions", []).append(restriction)
    return result | {"labelSelector": found}


def _namespaces(term: Object, pod: Object, namespaces: Namespaces) -> list[str] | None:
    """The nested namespaces that a term covers; None means all."""
    named, selector = set(term.get("namespaces") or []), term.get("namespaceSelector")
    if selector is None:
        return sorted(named) or [pod["metadata"]["namespace"]]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return None
    return sorted(named | {name for name, own in namespaces.items() if labels.is_match(selector, dict(own))})


def _spread(constraint: Object, pod: Object, target: Target) -> Object:
    result = {key: value for key, value in constraint.items() if key not in ("matchLabelKeys", "labelSelector")}
    selector = constraint.get("labelSelector")
    if selector is not None:
        scope = target.scope(pod["metadata"]["namespace"])
        merged = _merged(selector, constraint, pod)
        result["labelSelector"] = labels.host_selector(merged, scope, target.allowed_labels)
    return result


def _merged(selector: Object, source: Object, pod: Object) -> Object:
    """The selector with `matchLabelKeys` and `mismatchLabelKeys` merged in, as newer API servers do on creation.

    Newer servers keep the keys after merging, so the result is the same for pods from old and new servers.
    """
    own = labels_of(pod)
    expressions = list(selector.get("matchExpressions") or [])
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in source.get(field) or []:
            entry = {"key": key, "operator": operator, "values": [own.get(key)]}
            if key in own and entry not in expressions:
                expressions.append(entry)
    return selector | {"matchExpressions": expressions}
