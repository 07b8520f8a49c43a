"""An answer as the pod's status. Pure, but for what `Endings` remembers.

What a backend cannot know better than we do stays as it was: times of a state that goes on, an end that is final, and a run
that it has forgotten. Whether a container that has ended may run again only time tells: backends do not say whether they heed a
pod's `restartPolicy`.
"""

import datetime

from nestor.api import times
from nestor.api.objects import Object, status_of
from nestor.api.pod_status import is_terminal
from nestor.overflow.interlink.wire import PodAnswer
from nestor.overflow.statuses import ContainerAnswer, read_containers
from nestor.pods.translate.container_status import STATUSES, build_placeholder, find_phase

_Runs = tuple[tuple[str, int, str | None], ...]


class Endings:
    """Remembers since when pods have been at an end that their policy calls none. A clock of our own counts, in seconds."""

    def __init__(self, restart_seconds: float) -> None:
        self._limit = restart_seconds
        self._since: dict[str, tuple[_Runs, float]] = {}

    def build(self, pod: Object, answer: PodAnswer, now: datetime.datetime, at: float) -> Object:
        """The pod's status. It ends once the backend has had time to restart its containers, and has not done so."""
        uid = pod["metadata"]["uid"]
        going_on = ended = build_status(pod, answer, now, restarts=True)
        if not is_terminal({"status": going_on}) and _has_ended_containers(going_on):
            ended = build_status(pod, answer, now)
        if is_terminal({"status": going_on}) or not is_terminal({"status": ended}):
            self.forget(uid)
            return going_on
        runs = tuple((item["name"], item["restartCount"], item.get("containerID")) for item in ended["containerStatuses"])
        known, since = self._since.get(uid, ((), at))
        if known != runs:
            since = at
        self._since[uid] = (runs, since)
        return ended if at - since >= self._limit else going_on

    def forget(self, uid: str) -> None:
        self._since.pop(uid, None)


def build_status(pod: Object, answer: PodAnswer, now: datetime.datetime, *, restarts: bool = False) -> Object:
    """`restarts`: the pod's `restartPolicy` counts; otherwise, what has ended is over."""
    if is_terminal(pod):
        return status_of(pod)
    init = _reduce_group(pod, "initContainers", answer.init_containers, now)
    main = _reduce_group(pod, "containers", answer.containers, now)
    if not any(item.get("state") for item in answer.init_containers):
        init = _end_untold(init, main, now)
    policy = (pod["spec"].get("restartPolicy") or "Always") if restarts else "Never"
    result: Object = {"phase": find_phase(pod["spec"], init, main, policy), "containerStatuses": main}
    return result | ({"initContainerStatuses": init} if init else {})


def _end_untold(init: list[Object], main: list[Object], now: datetime.datetime) -> list[Object]:
    """Most plugins tell nothing of init containers: once a container of the pod has begun, they have ended well."""
    begun = [state for item in main if (state := item["state"].get("running") or item["state"].get("terminated"))]
    if not begun:
        return init
    time = min((state["startedAt"] for state in begun if state.get("startedAt")), default=times.write(now))
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time}}
    return [item if "terminated" in item["state"] else item | {"state": ended, "ready": True} for item in init]


def _has_ended_containers(status: Object) -> bool:
    return any("terminated" in item["state"] for field in STATUSES.values() for item in status.get(field) or [])


def _reduce_group(pod: Object, group: str, told: list[Object], now: datetime.datetime) -> list[Object]:
    answers = read_containers(told)
    before = {item["name"]: item for item in status_of(pod).get(STATUSES[group]) or []}
    return [
        _reduce(pod, container, answers.get(container["name"]), before.get(container["name"]), now)
        for container in pod["spec"].get(group) or []
    ]


def _reduce(
    pod: Object, container: Object, answer: ContainerAnswer | None, before: Object | None, now: datetime.datetime
) -> Object:
    before = before or build_placeholder(container)
    if answer is None:
        return before
    status = answer.build(container, lambda text: _move_time(text, pod, now), unknown_code=0)
    if not status["state"] or _is_forgotten(pod, before, status):
        return before
    for state in (status["state"], status["lastState"]):
        if ended := state.get("terminated"):
            ended["finishedAt"] = max(ended["startedAt"], ended["finishedAt"])
    if "terminated" not in status["lastState"]:
        status["lastState"] = {}
    status["restartCount"] = max(status["restartCount"], before.get("restartCount") or 0)
    return _keep_times(status, before)


def _move_time(text: str | None, pod: Object, now: datetime.datetime) -> str:
    """A time of the backend's clock, moved to where it can be: after the pod's creation, and not in the future."""
    found = _read_time(text) or now
    created = _read_time(pod["metadata"].get("creationTimestamp"))
    if created and found < created:
        found = created
    return times.write(min(found, now))


def _read_time(text: str | None) -> datetime.datetime | None:
    try:
        return times.read(text or "").astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _is_forgotten(pod: Object, before: Object, status: Object) -> bool:
    """True if the backend has gone back to a state that this run of the container had left."""
    old, new = before.get("state") or {}, status["state"]
    ids = {status.get("containerID"), before.get("containerID")}
    has_restarted = status["restartCount"] > (before.get("restartCount") or 0) or (len(ids) == 2 and None not in ids)
    if "terminated" in old and "terminated" not in new:
        return not (has_restarted and _may_restart(pod, old["terminated"]))
    return "running" in old and "waiting" in new and not has_restarted and "terminated" not in status["lastState"]


def _may_restart(pod: Object, ended: Object) -> bool:
    policy = pod["spec"].get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and ended.get("exitCode") != 0)


def _keep_times(status: Object, before: Object) -> Object:
    """With the times that are known already, where the state is still the same: those of a backend may drift."""
    if any(status.get(key) != before.get(key) for key in ("containerID", "restartCount")):
        return status
    for field in ("state", "lastState"):
        old = before.get(field) or {}
        for kind, state in status[field].items():
            if kind in old:
                status[field] = {kind: state | {key: old[kind][key] for key in ("startedAt", "finishedAt") if key in old[kind]}}
    return status
