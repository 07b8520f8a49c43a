"""Builds a nested pod's status from its host pod."""

from __future__ import annotations

from nestor.api import conditions as known
from nestor.objects import Object, conditions_of, status_of
from nestor.translate import messages
from nestor.translate.target import Target

# Left out: `qosClass` (immutable, set by the nested server) and `observedGeneration` (refers to the host pod).
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
"""Conditions that only the host sets. A tenant that names one as a readiness gate must not be able to write it."""

_LOST = "The pod was removed from the host cluster."


def is_terminal(pod: Object) -> bool:
    """True if the pod has succeeded or failed."""
    return status_of(pod).get("phase") in _TERMINAL


def is_bound(pod: Object) -> bool:
    """True if the syncer has bound this nested pod. A pod that sets `nodeName` itself does not count until then."""
    scheduled = known.is_true(conditions_of(pod), "PodScheduled")
    return bool(pod["spec"].get("nodeName")) and scheduled


def build_status(nested: Object, host: Object, target: Target) -> Object:
    """The status of the nested pod while its host pod is `host`."""
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
    """The status of a pod whose host pod was deleted: its last one, turned into Failed unless it had ended already.

    A nested pod that stayed Running would never be replaced by its ReplicaSet.
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
    """The status of a pod that cannot get a host pod: Pending, with the reason in PodScheduled."""
    why = known.Condition("PodScheduled", "False", reason, message)
    merged = known.merge(conditions_of(nested), [why], 0, time)
    return {"phase": "Pending", "conditions": _without_generation(merged)}


def build_patch(nested: Object, desired: Object, *, partial: bool = False) -> Object | None:
    """A strategic merge patch from the nested pod's status to `desired`, or None if nothing differs.

    Conditions are merged by type, so those set by nested controllers stay. Fields missing from `desired` are removed,
    unless `partial`. The UID makes the server reject the patch for a later pod with the same name.
    """
    now = status_of(nested)
    status: Object = {key: desired[key] for key in (*_FIELDS, *_CONTAINERS) if key in desired and desired[key] != now.get(key)}
    for key in _BY_IP:
        if key in desired and desired[key] != now.get(key):
            # A plain merge, by address, would keep the addresses of an earlier sandbox.
            status[key] = [*desired[key], {"$patch": "replace"}]
    if not partial:
        status |= {key: None for key in (*_FIELDS, *_BY_IP, *_CONTAINERS) if key in now and key not in desired}
    before = {item["type"]: item for item in _without_generation(now.get("conditions") or [])}
    changed = [item for item in desired["conditions"] if before.get(item["type"]) != item]
    if changed:
        status["conditions"] = [_explicit(item, before.get(item["type"]) or {}) for item in changed]
    return {"metadata": {"uid": nested["metadata"]["uid"]}, "status": status} if status else None


def find_gates(pod: Object) -> set[str]:
    """Condition types in `readinessGates` that someone other than the kubelet sets on this pod."""
    return {item["conditionType"] for item in pod["spec"].get("readinessGates") or []} - _KUBELET


def build_gates(nested: Object, host: Object) -> Object | None:
    """A patch that copies the readiness gates' conditions to the host pod, whose kubelet computes Ready; None if unchanged."""
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
    """The condition, with null for fields to remove: a strategic merge keeps unnamed fields of a list item."""
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
