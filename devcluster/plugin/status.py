"""What the backend answers about a pod: Kubernetes' own container statuses. Pure."""

import datetime

from devcluster.plugin import decide
from devcluster.plugin.record import Container, Pod, Run
from nestor.api import times
from nestor.api.objects import Object


def build(record: Pod, skew: float = 0) -> Object:
    """One entry of the answer to `/status`, by a clock that is `skew` seconds ahead."""
    meta = record.pod["metadata"]
    images = {item["name"]: item["image"] for item in [*_specs(record, "initContainers"), *_specs(record, "containers")]}
    statuses = {
        is_init: [_container(item, images[item.name], record, skew) for item in record.containers if item.is_init is is_init]
        for is_init in (True, False)
    }
    return {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "UID": record.uid,
        "JID": record.jid,
        "containers": statuses[False],
        "initContainers": statuses[True],
    }


def build_unknown(pod: Object) -> Object:
    """What is said of a pod that the backend does not have."""
    names = [item["name"] for item in (pod.get("spec") or {}).get("containers") or []]
    meta = pod["metadata"]
    empty = {"state": {}, "lastState": {}, "ready": False, "restartCount": 0, "image": "", "imageID": ""}
    own = {"name": meta.get("name") or "", "UID": meta["uid"], "namespace": meta.get("namespace") or "", "JID": ""}
    return own | {"containers": [{"name": name} | empty for name in names], "initContainers": None}


def is_known(answer: Object) -> bool:
    """Whether the backend has the pod that the answer is about."""
    return any(item.get("state") for item in answer.get("containers") or [])


def is_final(answer: Object, pod: Object) -> bool:
    """Whether an answer about `pod` will never change: the API server keeps such answers."""
    policy = (pod.get("spec") or {}).get("restartPolicy") or "Always"
    containers = answer.get("containers") or []
    ended = [state["terminated"] for item in containers if "terminated" in (state := item.get("state") or {})]
    if policy == "Always" or not containers or len(ended) < len(containers):
        return False
    return policy == "Never" or all(state.get("exitCode") == 0 for state in ended)


def _container(container: Container, image: str, record: Pod, skew: float) -> Object:
    last = container.last
    is_started = container.is_running and last is not None and bool(last.started)
    before = container.runs[:-1] if not container.waiting else container.runs
    return {
        "name": container.name,
        "image": image,
        "imageID": container.image_id,
        "containerID": f"containerd://{last.id}" if last and last.id else "",
        "ready": decide.has_succeeded(container) if container.is_init else is_started,
        "started": is_started,
        "restartCount": container.restarts,
        "state": _state(container, record, skew),
        "lastState": {"terminated": _terminated(before[-1], skew)} if before else {},
    }


def _state(container: Container, record: Pod, skew: float) -> Object:
    last = container.last
    if container.waiting:
        return {"waiting": {"reason": container.waiting, "message": container.message}}
    if last is None or not last.started:
        return {"waiting": _why_waiting(container, record)}
    if last.finished:
        return {"terminated": _terminated(last, skew)}
    return {"running": {"startedAt": _shift(last.started, skew)}}


def _why_waiting(container: Container, record: Pod) -> Object:
    if record.failure:
        return {"reason": "Failed", "message": record.failure}
    if not record.is_admitted:
        return {"reason": "Queued", "message": "the backend has no room yet"}
    inits = [item for item in record.containers if item.is_init]
    is_after_others = not container.is_init and not all(decide.has_succeeded(item) for item in inits)
    return {"reason": "PodInitializing" if is_after_others else "ContainerCreating"}


def _terminated(run: Run, skew: float) -> Object:
    return {
        "exitCode": run.code,
        "reason": run.reason,
        "message": run.message,
        "startedAt": _shift(run.started, skew),
        "finishedAt": _shift(run.finished, skew),
        "containerID": f"containerd://{run.id}",
    }


def _shift(time: str, seconds: float) -> str:
    return times.write(times.read(time) + datetime.timedelta(seconds=seconds))


def _specs(record: Pod, name: str) -> list[Object]:
    return record.pod["spec"].get(name) or []
