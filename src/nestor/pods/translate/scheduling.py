"""Scheduling fields of host pods: the tenant's rules, limited to its own pods and to what its class allows."""

from collections.abc import Mapping

from nestor.api.labels import NESTED_NAMESPACE
from nestor.api.objects import Object, labels_of
from nestor.api.placement import Placement
from nestor.api.taints import read_toleration
from nestor.api.words import DEFAULT_TAINT
from nestor.pods.translate import labels, node_rules
from nestor.pods.translate.node_rules import PREFERRED, REQUIRED
from nestor.pods.translate.placement import Place, find_rules
from nestor.pods.translate.target import Target

Namespaces = Mapping[str, Mapping[str, str]]
"""The nested namespaces and their labels."""


def build_scheduling(pod: Object, target: Target, namespaces: Namespaces, placement: Placement, place: Place) -> Object:
    spec = pod["spec"]
    result: Object = {"tolerations": build_tolerations(pod, placement, place)}
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
        "schedulerName": placement.scheduler_names.find(spec.get("schedulerName")),
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
    if required := own.get(REQUIRED):
        result[REQUIRED] = [_term(item, pod, target, namespaces) for item in required]
    if preferred := own.get(PREFERRED):
        result[PREFERRED] = [
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


ALWAYS_ALLOWED = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that every pod may tolerate: the nested admission adds them to each pod, both for a limited time."""
UNREACHABLE_SECONDS = 3600
"""For which a pod stays on a virtual node whose backend does not answer."""
_DEFAULT_SECONDS = 300
"""For which the API servers let a pod tolerate them that does not say so itself."""


def build_tolerations(pod: Object, placement: Placement, place: Place) -> list[Object]:
    found = find_own(pod["spec"], placement)
    given = list_given(pod, placement)
    for backend in place.backends:
        given += [f"{DEFAULT_TAINT}={backend.name}:NoSchedule"] if backend.tolerations is None else backend.tolerations
    for item in given:
        toleration = read_toleration(item)
        if toleration not in found:
            found.append(toleration)
    if place.where == "Backend" and placement.overflow is not None:
        return [_extend(item) for item in found]
    return found


def extend_tolerations(host: Object, placement: Placement) -> list[Object] | None:
    """The tolerations of a host pod that runs on a virtual node, if they have to change; None if not.

    Its backend may be away for a while, and its pods run on: the host's default would delete them after five minutes.
    """
    if placement.overflow is None:
        return None
    there = host["spec"].get("tolerations") or []
    wanted = [_extend(item) for item in there]
    return wanted if wanted != there else None


def _extend(toleration: Object) -> Object:
    return toleration | {"tolerationSeconds": UNREACHABLE_SECONDS} if _is_default(toleration) else toleration


def _is_default(toleration: Object) -> bool:
    """Whether it is one of those that API servers give each pod."""
    return toleration.get("key") in ALWAYS_ALLOWED and toleration.get("tolerationSeconds") == _DEFAULT_SECONDS


def is_carried(toleration: Object, there: list[Object]) -> bool:
    """Whether a pod's own toleration is among those of its host pod, also if it was extended there."""
    if toleration in there:
        return True
    return _is_default(toleration) and any(item | {"tolerationSeconds": _DEFAULT_SECONDS} == toleration for item in there)


def list_given(pod: Object, placement: Placement) -> list[str]:
    return [*placement.tolerations, *(item for part in find_rules(pod, placement) for item in part.tolerations)]


def find_own(spec: Object, placement: Placement) -> list[Object]:
    """Only tolerations of allowed taints: others would let a tenant onto nodes that their admins reserved."""
    return [item for item in spec.get("tolerations") or [] if is_allowed(item, placement)]


def is_allowed(toleration: Object, placement: Placement) -> bool:
    is_always = toleration.get("key") in ALWAYS_ALLOWED
    return is_always or any(covers(item, toleration) for item in placement.allowed_tolerations)


def covers(allowed: str, toleration: Object) -> bool:
    """Whether the toleration tolerates only taints that are allowed."""
    most = read_toleration(allowed)
    if any(toleration.get(field) != most[field] for field in ("key", "effect") if field in most):
        return False
    if most["operator"] == "Exists":
        return True
    return toleration.get("operator", "Equal") == "Equal" and (toleration.get("value") or "") == str(most["value"])
