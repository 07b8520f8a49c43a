"""The status of a nested pod, from its host pod."""

from __future__ import annotations

from nestor.api import conditions as known
from nestor.objects import Object, conditions_of, status_of
from nestor.translate import messages
from nestor.translate.target import Target

# Not `qosClass` (immutable there, set by the nested server), not `observedGeneration` (counts another object's changes).
_FIELDS = ("phase", "reason", "message", "startTime", "hostIP", "podIP")
_BY_IP = ("hostIPs", "podIPs")
_CONTAINERS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_TERMINAL = ("Succeeded", "Failed")

_KUBELET = frozenset(
    {
        "PodScheduled",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodReadyToStartContainers",
        "DisruptionTarget",
        "PodResizePending",
        "PodResizeInProgress",
    }
)
"""Conditions that the host alone decides about; a tenant that names one as a gate must not write it there."""

_LOST = "The pod was removed from the host cluster."


def is_terminal(pod: Object) -> bool:
    """True when the pod has run to its end."""
    return status_of(pod).get("phase") in _TERMINAL


def is_bound(pod: Object) -> bool:
    """True for a nested pod that the syncer has bound; one that names its node itself is not, until then."""
    scheduled = known.is_true(conditions_of(pod), "PodScheduled")
    return bool(pod["spec"].get("nodeName")) and scheduled


def build_status(nested: Object, host: Object, target: Target) -> Object:
    """The status that the nested pod should have while its host pod is `host`."""
    words = messages.build_words(nested, target, host)
    own = status_of(host)
    result = {key: own[key] for key in (*_FIELDS, *_BY_IP) if key in own}
    if "message" in result:
        result["message"] = messages.translate(result["message"], words)
    for group in _CONTAINERS:
        if group in own:
            result[group] = [_container(item, words) for item in own[group]]
    gates = find_gates(nested)
    result["conditions"] = [_condition(item, words) for item in own.get("conditions") or [] if item["type"] not in gates]
    return result


def build_lost(nested: Object, last: Object | None, target: Target, time: str) -> Object:
    """The status of a pod whose host pod was taken away: its last one, ended as Failed unless it was at its end.

    A nested pod that went on as Running would never be replaced by its ReplicaSet.
    """
    result = build_status(nested, last, target) if last is not None else dict(status_of(nested))
    if result.get("phase") in _TERMINAL:
        return result
    result["phase"] = "Failed"
    result["reason"] = result.get("reason") or "HostPodDeleted"
    result["message"] = result.get("message") or _LOST
    for group in _CONTAINERS:
        if group in result:
            result[group] = [_ended(item, time) for item in result[group]]
    over = [known.Condition(kind, "False", "PodFailed", result["message"]) for kind in ("Ready", "ContainersReady")]
    result["conditions"] = _without_generation(known.merge(result.get("conditions") or [], over, 0, time))
    return result


def build_waiting(nested: Object, reason: str, message: str, time: str) -> Object:
    """The status of a pod that cannot get a host pod: Pending, and PodScheduled says why."""
    why = known.Condition("PodScheduled", "False", reason, message)
    merged = known.merge(conditions_of(nested), [why], 0, time)
    return {"phase": "Pending", "conditions": _without_generation(merged)}


def build_patch(nested: Object, desired: Object, *, partial: bool = False) -> Object | None:
    """A strategic merge patch from the nested pod's status to `desired`, or None when it is there already.

    Conditions are merged by type: those that nested controllers set stay. Fields that `desired` lacks are taken away,
    unless it is `partial`. The UID makes the server refuse the patch for a later pod of the same name.
    """
    now = status_of(nested)
    status: Object = {key: desired[key] for key in (*_FIELDS, *_CONTAINERS) if key in desired and desired[key] != now.get(key)}
    for key in _BY_IP:
        if key in desired and desired[key] != now.get(key):
            # Merged by address otherwise, which would keep addresses of an earlier sandbox.
            status[key] = [*desired[key], {"$patch": "replace"}]
    if not partial:
        status |= {key: None for key in (*_FIELDS, *_BY_IP, *_CONTAINERS) if key in now and key not in desired}
    before = {item["type"]: item for item in _without_generation(now.get("conditions") or [])}
    changed = [item for item in desired["conditions"] if before.get(item["type"]) != item]
    if changed:
        status["conditions"] = [_explicit(item, before.get(item["type"]) or {}) for item in changed]
    return {"metadata": {"uid": nested["metadata"]["uid"]}, "status": status} if status else None


def find_gates(pod: Object) -> set[str]:
    """Condition types that others than the kubelet set on this pod (`readinessGates`)."""
    return {item["conditionType"] for item in pod["spec"].get("readinessGates") or []} - _KUBELET


def build_gates(nested: Object, host: Object) -> Object | None:
    """A patch that carries readiness gates' conditions to the host pod, whose kubelet decides about Ready; or None."""
    gates = find_gates(nested)
    there = _without_generation(conditions_of(host))
    wanted = _without_generation(conditions_of(nested))
    changed = [item for item in wanted if item["type"] in gates and item not in there]
    if not changed:
        return None
    return {"metadata": {"uid": host["metadata"]["uid"]}, "status": {"conditions": changed}}


def _condition(condition: Object, words: dict[str, str]) -> Object:
    result = {key: value for key, value in condition.items() if key != "observedGeneration"}
    if result.get("message"):
        result["message"] = messages.translate(result["message"], words)
    return result


def _without_generation(conditions: list[Object]) -> list[Object]:
    return [{key: value for key, value in item.items() if key != "observedGeneration"} for item in conditions]


def _explicit(condition: Object, before: Object) -> Object:
    """With null for what goes: a strategic merge keeps the fields of a list entry that are not named."""
    return {key: None for key in before if key not in condition} | condition


def _container(status: Object, words: dict[str, str]) -> Object:
    result = dict(status)
    for field in ("state", "lastState"):
        result[field] = {
            name: state | {"message": messages.translate(state["message"], words)} if state.get("message") else state
            for name, state in (status.get(field) or {}).items()
        }
    return result


def _ended(status: Object, time: str) -> Object:
    if "terminated" in (status.get("state") or {}):
        return status
    ended: Object = {"exitCode": 137, "reason": "ContainerStatusUnknown", "message": _LOST, "finishedAt": time}
    if started := (status.get("state") or {}).get("running", {}).get("startedAt"):
        ended["startedAt"] = started
    if status.get("containerID"):
        ended["containerID"] = status["containerID"]
    return status | {"ready": False, "started": False, "state": {"terminated": ended}}
