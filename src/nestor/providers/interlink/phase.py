"""A pod's status from the statuses of its containers, by the rules of a kubelet. Pure."""

from __future__ import annotations

import datetime

from nestor import times
from nestor.api import conditions as known
from nestor.objects import Object, conditions_of, status_of
from nestor.providers.interlink.containers import read_containers
from nestor.providers.interlink.reduce import reduce_containers
from nestor.providers.interlink.wire import PodAnswer

_TERMINAL = ("Succeeded", "Failed")


def is_over(pod: Object) -> bool:
    """True if the pod has ended: its status does not change any more."""
    return status_of(pod).get("phase") in _TERMINAL


def build_status(pod: Object, answer: PodAnswer, now: datetime.datetime, *, restarts: bool = False) -> Object:
    """The pod's status after this answer. `restarts`: its `restartPolicy` counts; otherwise, what has ended is over."""
    if is_over(pod):
        return status_of(pod)
    spec, time = pod["spec"], times.write(now)
    init = reduce_containers(pod, "initContainers", read_containers(answer.init_containers), now)
    main = reduce_containers(pod, "containers", read_containers(answer.containers), now)
    phase = find_phase(spec, init, main, restarts=restarts)
    result: Object = {"phase": phase, "startTime": status_of(pod).get("startTime") or time, "containerStatuses": main}
    if init:
        result["initContainerStatuses"] = init
    return result | {"conditions": _build_conditions(pod, phase, init, main, time)}


def find_phase(spec: Object, init: list[Object], main: list[Object], *, restarts: bool) -> str:
    """`Pending`, `Running`, `Succeeded` or `Failed`."""
    policy = (spec.get("restartPolicy") or "Always") if restarts else "Never"
    sidecars = {item["name"] for item in spec.get("initContainers") or [] if item.get("restartPolicy") == "Always"}
    before = [item["state"] for item in init if item["name"] not in sidecars]
    if policy == "Never" and any(_exit_code(state) not in (None, 0) for state in before):
        return "Failed"
    if any(_exit_code(state) != 0 for state in before):
        return "Pending"
    states = [item["state"] for item in main]
    if any("waiting" in item["state"] and not item.get("lastState") for item in main):
        return "Pending"
    codes = [_exit_code(state) for state in states]
    if any(code is None for code in codes) or policy == "Always":
        return "Running"
    if all(code == 0 for code in codes):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _exit_code(state: Object) -> int | None:
    ended = state.get("terminated")
    return None if ended is None else int(ended["exitCode"])


def _build_conditions(pod: Object, phase: str, init: list[Object], main: list[Object], time: str) -> list[Object]:
    gates = [item["conditionType"] for item in pod["spec"].get("readinessGates") or []]
    closed = [gate for gate in gates if not known.is_true(conditions_of(pod), gate)]
    unready = [item["name"] for item in main if not item["ready"]]
    starting = [item["name"] for item in init if _exit_code(item["state"]) != 0 and not item["ready"]]
    if phase in _TERMINAL:
        reason, message = "PodCompleted" if phase == "Succeeded" else "PodFailed", ""
    elif unready:
        reason, message = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    else:
        reason, message = "", ""
    is_ready = phase == "Running" and not unready
    found = [
        ("Initialized", not starting or phase == "Succeeded", "ContainersNotInitialized", ""),
        ("ContainersReady", is_ready, reason, message),
        ("Ready", is_ready and not closed, reason or "ReadinessGatesNotReady", message),
    ]
    return [_condition(pod, kind, is_true, "" if is_true else why, text, time) for kind, is_true, why, text in found]


def _condition(pod: Object, kind: str, is_true: bool, reason: str, message: str, time: str) -> Object:
    before = known.find(conditions_of(pod), kind) or {}
    status = "True" if is_true else "False"
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    texts = {key: value for key, value in (("reason", reason), ("message", message)) if value}
    return {"type": kind, "status": status, "lastTransitionTime": since or time, **texts}
