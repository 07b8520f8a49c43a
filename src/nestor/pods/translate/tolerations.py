"""Tolerations of host pods: those of the tenant that its class allows, and those that the class gives."""

from __future__ import annotations

from nestor.api.objects import Object
from nestor.api.placement import Backend, Placement
from nestor.api.taints import read_toleration
from nestor.api.words import DEFAULT_TAINT
from nestor.pods.translate.placement import Place, find_rules

ALWAYS_ALLOWED = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that every pod may tolerate: the nested admission adds them to each pod, both for a limited time."""
UNREACHABLE_SECONDS = 3600
"""For which a pod stays on a virtual node whose backend does not answer."""
_DEFAULT_SECONDS = 300
"""For which the API servers let a pod tolerate them that does not say so itself."""


def build_tolerations(pod: Object, placement: Placement, place: Place) -> list[Object]:
    """All tolerations of the host pod."""
    found = find_own(pod["spec"], placement)
    given = list_given(pod, placement)
    for backend in place.backends:
        given += _tolerate(backend)
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
    """The taints that the pod tolerates wherever it runs."""
    return [*placement.tolerations, *(item for part in find_rules(pod, placement) for item in part.tolerations)]


def find_own(spec: Object, placement: Placement) -> list[Object]:
    """Only tolerations of allowed taints: others would let a tenant onto nodes that their admins reserved."""
    return [item for item in spec.get("tolerations") or [] if is_allowed(item, placement)]


def is_allowed(toleration: Object, placement: Placement) -> bool:
    """Whether a pod's own toleration is carried to the host."""
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


def _tolerate(backend: Backend) -> list[str]:
    return [f"{DEFAULT_TAINT}={backend.name}:NoSchedule"] if backend.tolerations is None else backend.tolerations
