"""Builds the status of a host pod from what its backend says, as a kubelet would. Pure.

Backends may be hostile or broken: only a kubelet's fields are taken, only about the pod's own containers, and only in the form
that API servers accept, since they refuse a status as a whole. Addresses of pods are left out: nobody in the host cluster
reaches them, and a made-up one would get the traffic of Services.
"""

from dataclasses import dataclass

from nestor.api import conditions
from nestor.api.contracts.vnode import ACCEPTED, SENDING, SENT
from nestor.api.objects import Object, conditions_of, spec_of, status_of
from nestor.api.pod_status import IMAGE_REASONS, TERMINAL
from nestor.overflow.statuses import MESSAGE_LIMIT, REASON_LIMIT, items_of, read_containers
from nestor.overflow.vnode.pods.containers import is_initialized, read_container
from nestor.overflow.vnode.pods.decide import Mark
from nestor.pods.providers.errors import cut
from nestor.pods.translate.container_status import STATUSES, build_placeholder, end_container, find_phase, has_run, is_sidecar
from nestor.pods.translate.status import without_generation

_RESIZE = ("PodResizePending", "PodResizeInProgress")
"""Conditions that are only there while a resize waits or is under way."""
_OWN_FAULTS = IMAGE_REASONS | {"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
"""Reasons of waiting containers that have nothing to do with room."""


def read_mark(pod: Object) -> Mark:
    """What the pod's status says about its being sent."""
    found = conditions.find(conditions_of(pod), SENT) or {}
    if found.get("status") != "True":
        return ""
    return "Sending" if found.get("reason") == SENDING else "Accepted"


def has_started(pod: Object, status: Object) -> bool:
    """Whether a container of the pod runs or has run, by this status of it."""
    if status.get("phase") in ("Running", "Succeeded"):
        return True
    return any(has_run(item) for field in STATUSES.values() for item in items_of(status.get(field)))


def is_waiting(there: Object, container: str | None) -> bool:
    """Whether the container has not run yet, by what its backend says of the pod. Of init containers, many say nothing."""
    found = [item for item in items_of(there.get("containerStatuses")) if item.get("name") == container]
    return bool(found) and not has_run(found[0])


def has_ended(pod: Object, there: Object) -> bool:
    """Whether the pod has ended for good at its backend, which says `there` of it.

    Kubelets write that the last container has ended before they write it of the pod, whose phase is Running until then.
    """
    return there.get("phase") in TERMINAL or _read(pod | {"status": {}}, there)["phase"] in TERMINAL


def lacks_room(there: Object) -> bool:
    """Whether a pod that has not started waits for room at its backend, which says `there` of it, and not for its own image."""
    if scheduled := conditions.find(items_of(there.get("conditions")), "PodScheduled"):
        return scheduled.get("status") != "True"
    # Backends without a scheduler in our sense, such as queues, do not say it.
    states = [item.get("state") for field in STATUSES.values() for item in items_of(there.get(field))]
    waiting = [state.get("waiting") for state in states if isinstance(state, dict)]
    return not any(isinstance(item, dict) and item.get("reason") in _OWN_FAULTS for item in waiting)


def build_sent(pod: Object, address: str, time: str) -> Object:
    """The status before the pod is sent: its containers are being created. Why it has waited so far stays until that is over."""
    why = {key: status_of(pod)[key] for key in ("reason", "message") if key in status_of(pod)}
    return _complete(pod, {"phase": "Pending"} | why, address, time, _mark("True", SENDING, time))


def build_report(pod: Object, there: Object, address: str, time: str) -> Object:
    """The status of an accepted pod, where `there` is what the backend says."""
    own = [*_mark("True", ACCEPTED, time), *_find_reported(there, time)]
    return _complete(pod, _read(pod, there), address, time, own)


def build_waiting(pod: Object, reason: str, message: str, time: str, *, is_rejected: bool) -> Object:
    """The status of a pod that the backend does not have yet, with the reason. Its containers stay as they are.

    `is_rejected`: it is certainly not there. Otherwise, what is noted about that stays.
    """
    kept = {key: value for key, value in status_of(pod).items() if key != "qosClass"}
    kept |= {"phase": "Pending", "reason": cut(reason, REASON_LIMIT), "message": cut(message, MESSAGE_LIMIT)}
    return kept | {"conditions": _merge(conditions_of(pod), _mark("False", reason, time) if is_rejected else [])}


@dataclass(frozen=True)
class Ending:
    """Why a pod ends that did not end by itself."""

    reason: str
    message: str
    is_disrupted: bool = False
    """It is no fault of the pod's, so that Jobs may ignore it by their `podFailurePolicy`."""
    is_gone: bool = True
    """It is certainly not at the backend any more."""


def build_ended(pod: Object, there: Object | None, ending: Ending, time: str) -> Object:
    """The last status of a pod: how it ended at the backend, else Failed for that reason."""
    reason, message = cut(ending.reason, REASON_LIMIT), cut(ending.message, MESSAGE_LIMIT)
    own, fields = status_of(pod), ("phase", "reason", "message", *STATUSES.values())
    last = _read(pod, there) if there is not None else {key: own[key] for key in fields if key in own}
    gone = _mark("False", reason, time) if ending.is_gone else []
    gone += _find_reported(there or {}, time)
    if last.get("phase") not in TERMINAL:
        last |= {"phase": "Failed", "reason": reason, "message": message}
        if ending.is_disrupted:
            gone.append(_condition("DisruptionTarget", "True", reason, message, time))
    for group, field in STATUSES.items():
        items = {item["name"]: item for item in last.get(field) or []}
        known = [items.get(container["name"]) or build_placeholder(container) for container in spec_of(pod).get(group) or []]
        last[field] = [end_container(item, message, time) for item in known]
    return _complete(pod, last, status_of(pod).get("hostIP") or "", time, gone)


def _read(pod: Object, there: Object) -> Object:
    """The part of a backend's answer that counts, with the phase that follows from it."""
    own = status_of(pod)
    result: Object = {}
    for group, field in STATUSES.items():
        said = read_containers(there.get(field))
        before = {item["name"]: item for item in own.get(field) or []}
        result[field] = [
            read_container(pod, group, container, said.get(container["name"]), before.get(container["name"]))
            for container in spec_of(pod).get(group) or []
        ]
    result["phase"] = _find_phase(pod, result, there.get("phase"))
    for key, limit in (("reason", REASON_LIMIT), ("message", MESSAGE_LIMIT)):
        if isinstance(there.get(key), str) and there[key]:
            result[key] = cut(there[key], limit)
    if result["phase"] == "Pending" and "message" not in result:
        result |= _find_delay(there)
    return result


def _complete(pod: Object, status: Object, address: str, time: str, own: list[Object]) -> Object:
    """With what the backend does not say: start, node address, conditions, and a status for each container."""
    before = status_of(pod)
    result = {key: value for key, value in status.items() if value not in (None, "")}
    for group, field in STATUSES.items():
        containers = spec_of(pod).get(group) or []
        items = {item["name"]: item for item in result.get(field) or []}
        if containers:
            result[field] = [items.get(container["name"]) or build_placeholder(container) for container in containers]
        else:
            result.pop(field, None)
    result["startTime"] = before.get("startTime") or time
    if address:
        result |= {"hostIP": address, "hostIPs": [{"ip": address}]}
    merged = _merge(conditions_of(pod), [*_build_conditions(pod, result, time), *own])
    over = set(_RESIZE) - {item["type"] for item in own}
    return result | {"conditions": [item for item in merged if item["type"] not in over]}


def _build_conditions(pod: Object, status: Object, time: str) -> list[Object]:
    spec = spec_of(pod)
    mains = status.get("containerStatuses") or []
    sidecars = {item["name"] for item in spec.get("initContainers") or [] if is_sidecar(item)}
    inits = status.get("initContainerStatuses") or []
    has_begun = all(is_initialized(item, runs_on=item["name"] in sidecars) for item in inits)
    unready = [item["name"] for item in mains if not item["ready"]]
    unready += [item["name"] for item in inits if item["name"] in sidecars and not item["ready"]]
    reason, message = "", ""
    if status["phase"] in TERMINAL:
        reason = "PodCompleted" if status["phase"] == "Succeeded" else "PodFailed"
        has_begun = has_begun or status["phase"] == "Succeeded"
    elif unready:
        reason, message = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    gates = [item["conditionType"] for item in spec.get("readinessGates") or []]
    missing = [gate for gate in gates if not conditions.is_true(conditions_of(pod), gate)]
    is_ready = not reason and not missing
    has_network = any(has_run(item) for item in (*mains, *inits)) and status["phase"] not in TERMINAL
    why = (reason, message) if reason else ("ReadinessGatesNotReady", f"gates: [{' '.join(missing)}]") if missing else ("", "")
    return [
        _condition("PodReadyToStartContainers", str(has_network), "", "", time),
        _condition("Initialized", str(has_begun), "" if has_begun else "ContainersNotInitialized", "", time),
        _condition("ContainersReady", str(not reason), reason, message, time),
        _condition("Ready", str(is_ready), *why, time),
    ]


def _find_phase(pod: Object, status: Object, said: object) -> str:
    """As kubelets find it. What the backend says counts where no container contradicts it: a pod may end without them."""
    spec, mains = spec_of(pod), status["containerStatuses"]
    found = find_phase(spec, status["initContainerStatuses"], mains, spec.get("restartPolicy") or "Always")
    states = [item["state"] for item in mains]
    if said not in TERMINAL or found in TERMINAL or any("running" in state for state in states):
        return found
    has_failed = said == "Failed" or any(state.get("terminated", {}).get("exitCode") for state in states)
    return "Failed" if has_failed else "Succeeded"


def _find_delay(there: Object) -> Object:
    """Why the backend has not placed the pod yet, where it is a cluster that says so."""
    found = conditions.find(items_of(there.get("conditions")), "PodScheduled") or {}
    if found.get("status") != "False" or not isinstance(found.get("message"), str):
        return {}
    return {"reason": cut(found.get("reason") or "Unschedulable", REASON_LIMIT), "message": cut(found["message"], MESSAGE_LIMIT)}


def _find_reported(there: Object, time: str) -> list[Object]:
    """What the backend, where it is a cluster, says about a pod that ends through no fault of its own, and about a resize."""
    result = []
    for kind in ("DisruptionTarget", *_RESIZE):
        found = conditions.find(items_of(there.get("conditions")), kind) or {}
        if found.get("status") == "True":
            reason, message = cut(found.get("reason") or "", REASON_LIMIT), cut(found.get("message") or "", MESSAGE_LIMIT)
            result.append(_condition(kind, "True", reason, message, time))
    return result


def _mark(status: str, reason: str, time: str) -> list[Object]:
    return [_condition(SENT, status, reason, "", time)]


def _condition(kind: str, status: str, reason: str, message: str, time: str) -> Object:
    found: Object = {"type": kind, "status": status, "lastTransitionTime": time}
    return found | {key: value for key, value in (("reason", reason), ("message", message)) if value}


def _merge(before: list[Object], new: list[Object]) -> list[Object]:
    """The conditions, where a time moves only with the status; those of others stay."""
    result = {item["type"]: item for item in without_generation(before)}
    for item in new:
        there = result.get(item["type"], {})
        kept = ["lastProbeTime"]  # API servers add it, empty
        if there.get("status") == item["status"]:
            kept.append("lastTransitionTime")
        result[item["type"]] = item | {key: there[key] for key in kept if key in there}
    return list(result.values())
