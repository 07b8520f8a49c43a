"""How a virtual node goes: no new pods, eviction of those that run, deletion of what is left of all, and its own. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, is_of_daemon_set, is_terminating
from nestor.api.times import seconds_since
from nestor.pods.translate.status import is_terminal

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
    """The next thing to do."""

    act: Act
    pods: tuple[Object, ...] = ()
    """The pods to do it to."""
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
