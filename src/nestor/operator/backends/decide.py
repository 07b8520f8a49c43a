"""Whether a backend's nodes take pods, and why not; and how a node goes: no new pods, eviction of those that run, deletion of
what is left of all, and its own. Pure.
"""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from nestor.api import conditions, labels, pod_status
from nestor.api.conditions import Condition, Reason
from nestor.api.objects import Object, annotations_of, is_of_daemon_set, is_terminating, status_of
from nestor.api.pod_status import is_terminal
from nestor.api.times import seconds_since


@dataclass(frozen=True)
class NodeState:
    name: str
    shape: str = ""
    is_ready: bool = False
    why: str = ""
    """What its `Ready` condition says."""
    removed_since: str | None = None
    conflict: str = ""
    """Why the name cannot be used; empty: the node is the backend's own."""

    def to_dict(self) -> Object:
        ready = "Ready" if self.is_ready else "NotReady"
        state = "Refused" if self.conflict else "Draining" if self.removed_since else ready
        found = {"name": self.name, "shape": self.shape, "state": state}
        return found | ({"drainTime": self.removed_since} if self.removed_since else {})


@dataclass(frozen=True)
class Process:
    problem: str | None = None
    """Why it does not work; None if it does."""
    is_running: bool = True


def decide_ready(
    process: Process, reachable: Object | None, certified: Object | None, nodes: Sequence[NodeState], *, has_shapes: bool
) -> Condition:
    """Condition `Ready` of the backend. What comes first explains what follows from it.

    `reachable`: the condition that the process has reported; `certified`: the same of its certificates, if the cluster does not
    issue them all.
    """
    reachable, certified = reachable or {}, certified or {}
    uncertified = str(certified.get("message", "")) if certified.get("status") == "False" else ""
    if process.is_running and reachable.get("status", "True") != "True":
        return not_ready(conditions.reason_of(reachable), reachable.get("message") or "it does not answer")
    if process.problem is not None:
        if process.is_running and uncertified:
            return not_ready(conditions.CERTIFICATE_NOT_ISSUED, uncertified)
        return not_ready(conditions.NOT_DEPLOYED, process.problem)
    if not reachable:
        return not_ready(conditions.NOT_DEPLOYED, "the process of its virtual nodes has not reported yet")
    if not has_shapes:
        return not_ready(conditions.NO_SHAPES, "the backend reports no machines, and `spec.shapes` is not set")
    if refused := [item for item in nodes if item.conflict]:
        return not_ready(conditions.NODE_CONFLICT, "; ".join(item.conflict for item in refused))
    kept = [item for item in nodes if item.removed_since is None]
    if waiting := [item for item in kept if not item.is_ready]:
        return not_ready(conditions.NODES_NOT_READY, "; ".join(f"node '{item.name}': {item.why}" for item in waiting))
    leaving = [item.name for item in nodes if item.removed_since]
    said = f"{count_ready(nodes)} nodes take pods" + (f"; being removed: {', '.join(leaving)}" if leaving else "")
    if uncertified:  # nodes need only the first of their two certificates
        said += f"; logs and commands fail: {uncertified}"
    return Condition(conditions.READY, "True", conditions.NODES_READY, said)


def count_ready(nodes: Iterable[NodeState]) -> str:
    """How many of the nodes that there should be are ready, such as `2/3`."""
    kept = [item for item in nodes if item.removed_since is None]
    return f"{sum(item.is_ready and not item.conflict for item in kept)}/{len(kept)}"


def find_process(name: str, pods: Iterable[Object]) -> Process:
    found = [pod for pod in pods if not pod_status.is_terminal(pod)]
    if any(pod_status.is_ready(pod) for pod in found):
        return Process()
    for pod in found:
        if obstacle := pod_status.find_obstacle(pod, conditions.NOT_DEPLOYED):
            return Process(obstacle[1], is_running=False)
    is_running = any(status_of(pod).get("phase") == "Running" for pod in found)
    return Process(f"no pod of Deployment '{name}' is ready", is_running=is_running)


def read_node(node: Object, shape: str, removed_since: str | None) -> NodeState:
    found = next((item for item in status_of(node).get("conditions") or () if item.get("type") == "Ready"), None)
    name = str(node["metadata"]["name"])
    is_ready = found is not None and found.get("status") == "True"
    why = "its state has not been reported yet" if found is None else found.get("message") or found.get("reason") or "not ready"
    return NodeState(name, shape, is_ready, "" if is_ready else str(why), removed_since)


def not_ready(reason: Reason, message: str) -> Condition:
    return Condition(conditions.READY, "False", reason, message)


SETTLE_SECONDS = 60.0
"""How long a shape must be gone before pods are sent away: a backend may forget one for a moment."""
END_SECONDS = 30.0
"""How long pods may take to end after they were deleted, until they are no longer waited for."""
SKEW_SECONDS = 60.0
"""How far clocks may differ: a beginning that lies further ahead is nonsense."""
POLL_SECONDS = 5.0

Act = Literal["Cordon", "Wait", "Evict", "Delete", "Force", "Remove"]
"""`Force`: delete the pods without their node's confirmation. `Remove`: delete the node itself."""


@dataclass(frozen=True)
class Removal:
    act: Act
    pods: tuple[Object, ...] = ()
    delay: float = POLL_SECONDS
    """When to look again, in seconds."""


def decide_removal(
    node: Object, pods: Iterable[Object], now: datetime.datetime, *, limit: float, settle: float = SETTLE_SECONDS
) -> Removal:
    """What to do about a node that should not be there. `limit`: until pods that run are deleted, in seconds. `pods`: all
    that are bound to it; those of DaemonSets do not count, for they come back as long as the node is there.
    """
    since = find_start(node)
    if since is None or seconds_since(since, now) < -SKEW_SECONDS:
        return Removal("Cordon", delay=0)
    held = tuple(pod for pod in pods if not is_of_daemon_set(pod))
    running = tuple(pod for pod in held if not is_terminal(pod))
    age = max(0.0, seconds_since(since, now))
    settle = min(settle, limit)
    if age < settle:
        return Removal("Wait", delay=settle - age)
    if not held:
        return Removal("Remove")
    if age < limit and running:
        return Removal("Evict", _staying(running))
    # Finished ones would lose their node soon after, and nobody would take what is left of them from the backend.
    if age < limit + END_SECONDS:
        return Removal("Delete", _staying(held))
    return Removal("Force", held, delay=1)


def find_start(node: Object) -> str | None:
    """Since when the node is being removed (RFC 3339); None if it is not, or somebody has written nonsense there."""
    since = annotations_of(node).get(labels.REMOVED_SINCE)
    try:
        seconds_since(since or "")
    except (ValueError, TypeError):
        return None
    return since


def _staying(pods: tuple[Object, ...]) -> tuple[Object, ...]:
    return tuple(pod for pod in pods if not is_terminating(pod))
