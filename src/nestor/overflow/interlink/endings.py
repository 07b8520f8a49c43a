"""Whether a container that has ended may run again: backends do not tell whether they heed a pod's `restartPolicy`."""

from __future__ import annotations

import datetime

from nestor.api.objects import Object, status_of
from nestor.overflow.interlink.containers import read_containers
from nestor.overflow.interlink.reduce import reduce_containers
from nestor.overflow.interlink.wire import PodAnswer
from nestor.pods.translate.container_status import find_phase
from nestor.pods.translate.status import is_terminal


def build_status(pod: Object, answer: PodAnswer, now: datetime.datetime, *, restarts: bool = False) -> Object:
    """The pod's status after this answer. `restarts`: its `restartPolicy` counts; otherwise, what has ended is over."""
    if is_terminal(pod):
        return status_of(pod)
    init = reduce_containers(pod, "initContainers", read_containers(answer.init_containers), now)
    main = reduce_containers(pod, "containers", read_containers(answer.containers), now)
    policy = (pod["spec"].get("restartPolicy") or "Always") if restarts else "Never"
    result: Object = {"phase": find_phase(pod["spec"], init, main, policy), "containerStatuses": main}
    return result | ({"initContainerStatuses": init} if init else {})


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
        """The pod is of no interest any more."""
        self._since.pop(uid, None)


def _has_ended_containers(status: Object) -> bool:
    groups = (status.get("containerStatuses") or [], status.get("initContainerStatuses") or [])
    return any("terminated" in item["state"] for group in groups for item in group)
