"""Containers of pods, and their statuses: what is assumed of those that nobody tells about, and what follows from them. Pure."""

from collections.abc import Iterable, Mapping

from nestor.api.objects import Object

STATUSES = {
    "initContainers": "initContainerStatuses",
    "containers": "containerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}
"""The field of a pod's status for each group of containers in its spec."""
RUN = ("initContainers", "containers")
"""The groups that a pod has from its start."""
_UNKNOWN = "ContainerStatusUnknown"


def list_containers(spec: Object, groups: Iterable[str] = STATUSES) -> list[tuple[str, Object]]:
    """The containers of a pod, each with the path of its field."""
    return [(f"spec.{group}[{index}]", item) for group in groups for index, item in enumerate(spec.get(group) or [])]


def build_placeholder(container: Object) -> Object:
    """The status of a container of which nothing is known yet."""
    plain = {"image": str(container.get("image") or ""), "imageID": "", "restartCount": 0, "ready": False, "started": False}
    return {"name": container["name"], **plain, "state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {}}


def end_container(status: Object, message: str, time: str) -> Object:
    """The status of a container that runs no more, though nobody has said how it ended."""
    if "terminated" in (status.get("state") or {}):
        return status
    ended: Object = {"exitCode": 137, "reason": _UNKNOWN, "message": message, "finishedAt": time}
    if started := (status.get("state") or {}).get("running", {}).get("startedAt"):
        ended["startedAt"] = started
    if status.get("containerID"):
        ended["containerID"] = status["containerID"]
    return status | {"ready": False, "started": False, "state": {"terminated": ended}}


def has_run(status: Object) -> bool:
    states = [state for state in (status.get("state"), status.get("lastState")) if isinstance(state, Mapping)]
    return any(state.get("running") is not None or state.get("terminated") is not None for state in states)


def is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def find_phase(spec: Object, init: list[Object], main: list[Object], policy: str) -> str:
    """`Pending`, `Running`, `Succeeded` or `Failed`, as kubelets find it from the statuses of a pod's containers.

    `policy`: whether what has ended is restarted, as the pod's `restartPolicy` says; where nothing is, `Never`.
    """
    sidecars = {item["name"] for item in spec.get("initContainers") or [] if is_sidecar(item)}
    before = [_exit_code(item) for item in init if item["name"] not in sidecars]
    if policy == "Never" and any(before):
        return "Failed"
    if any(code != 0 for code in before) or not all(map(has_run, main)):
        return "Pending"
    codes = [_exit_code(item) for item in main]
    if policy == "Always" or None in codes:
        return "Running"
    if not any(codes):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _exit_code(status: Object) -> int | None:
    """None while the container has not ended."""
    ended = status["state"].get("terminated")
    return None if ended is None else int(ended["exitCode"])
