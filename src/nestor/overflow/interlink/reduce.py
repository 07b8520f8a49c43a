"""Container statuses of an answer as those of the pod's own containers. Pure.

What a backend cannot know better than we do stays as it was: times of a state that goes on, an end that is final, and a run
that it has forgotten.
"""

from __future__ import annotations

import datetime

from nestor.api import times
from nestor.api.objects import Object, status_of
from nestor.overflow.interlink.containers import ContainerAnswer, State, Waiting
from nestor.pods.translate.container_status import build_placeholder


def reduce_containers(pod: Object, group: str, answers: dict[str, ContainerAnswer], now: datetime.datetime) -> list[Object]:
    """The statuses of the containers in `spec.<group>`, in their order."""
    key = "initContainerStatuses" if group == "initContainers" else "containerStatuses"
    before = {item["name"]: item for item in status_of(pod).get(key) or []}
    return [
        _reduce(pod, container, answers.get(container["name"]), before.get(container["name"]), now)
        for container in pod["spec"].get(group) or []
    ]


def _reduce(
    pod: Object, container: Object, answer: ContainerAnswer | None, before: Object | None, now: datetime.datetime
) -> Object:
    if before is None:
        before = build_placeholder(container)
    if answer is None or not _has_state(answer.state):
        return before
    status = _build(container, answer, pod, now)
    if _is_forgotten(pod, before, status):
        return before
    status["restartCount"] = max(status["restartCount"], before.get("restartCount") or 0)
    return _keep_times(status, before)


def _build(container: Object, answer: ContainerAnswer, pod: Object, now: datetime.datetime) -> Object:
    running = answer.state.running is not None
    result: Object = {
        "name": container["name"],
        "state": _build_state(answer.state, pod, now),
        "lastState": _build_state(answer.last_state, pod, now) if answer.last_state.terminated else {},
        "ready": answer.ready and running,
        "started": running if answer.started is None else answer.started and running,
        "restartCount": answer.restart_count,
        "image": answer.image or str(container.get("image") or ""),
        "imageID": answer.image_id,
    }
    return result | ({"containerID": answer.container_id} if answer.container_id else {})


def _has_state(state: State) -> bool:
    return any((state.waiting, state.running, state.terminated))


def _build_state(state: State, pod: Object, now: datetime.datetime) -> Object:
    if ended := state.terminated:
        started = _time(ended.started_at, pod, now)
        texts = {"reason": ended.reason or ("Error" if ended.exit_code else "Completed"), "message": ended.message}
        found: Object = {"exitCode": ended.exit_code, "startedAt": started, "signal": ended.signal, **texts}
        found |= {"finishedAt": max(started, _time(ended.finished_at, pod, now)), "containerID": ended.container_id}
        return {"terminated": {key: value for key, value in found.items() if key == "exitCode" or value}}
    if state.running:
        return {"running": {"startedAt": _time(state.running.started_at, pod, now)}}
    waiting = state.waiting or Waiting()
    return {
        "waiting": {"reason": waiting.reason or "ContainerCreating"} | ({"message": waiting.message} if waiting.message else {})
    }


def _time(text: str | None, pod: Object, now: datetime.datetime) -> str:
    """A time of the backend's clock, moved to where it can be: after the pod's creation, and not in the future."""
    found = _read_time(text) or now
    created = _read_time(pod["metadata"].get("creationTimestamp"))
    if created and found < created:
        found = created
    return times.write(min(found, now))


def _read_time(text: str | None) -> datetime.datetime | None:
    try:
        found = times.read(text or "")
        return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _is_forgotten(pod: Object, before: Object, status: Object) -> bool:
    """True if the backend has gone back to a state that this run of the container had left."""
    old, new = before.get("state") or {}, status["state"]
    ids = {status.get("containerID"), before.get("containerID")}
    has_restarted = status["restartCount"] > (before.get("restartCount") or 0) or (len(ids) == 2 and None not in ids)
    if "terminated" in old and "terminated" not in new:
        return not (has_restarted and _may_restart(pod, old["terminated"]))
    return "running" in old and "waiting" in new and not has_restarted and not status["lastState"]


def _may_restart(pod: Object, ended: Object) -> bool:
    policy = pod["spec"].get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and ended.get("exitCode") != 0)


def _keep_times(status: Object, before: Object) -> Object:
    """With the times that are known already, where the state is still the same: those of a backend may drift."""
    same_run = all(status.get(key) == before.get(key) for key in ("containerID", "restartCount"))
    for field in ("state", "lastState"):
        old = before.get(field) or {}
        for kind, state in status[field].items():
            if not same_run or kind not in old:
                continue
            status[field] = {kind: state | {key: old[kind][key] for key in ("startedAt", "finishedAt") if key in old[kind]}}
    return status
