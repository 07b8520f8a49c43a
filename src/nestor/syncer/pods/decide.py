"""What to do about one nested pod and its host pod; both are the same pod's, by the nested UID."""

from __future__ import annotations

from typing import Literal

from nestor.objects import Object, is_terminating
from nestor.translate.status import is_bound, is_terminal

Action = Literal[
    "Nothing",
    "Create",  # the nested pod wants to run
    "Sync",  # carry changes down and status up
    "Stop",  # the nested pod is being deleted: the host pod ends first
    "Finish",  # … and then the nested pod goes
    "Remove",  # nothing nested stands behind the host pod any more
    "Lose",  # the host pod was taken away by others
    # While the cluster is suspended:
    "Hold",  # the nested pod wants to run, and waits
    "Withdraw",  # the host pod is on no node yet: it goes, and the nested pod waits
    "Evict",  # the nested pod is to end, or to be made anew
]


def decide(nested: Object | None, host: Object | None, *, had_host: bool, is_suspended: bool = False) -> Action:
    """The next step. `had_host`: a bound host pod of this UID was seen before, whatever the caches say now."""
    if nested is None:
        return "Remove" if host is not None else "Nothing"
    if host is None:
        return _without_host(nested, had_host, is_suspended)
    if is_terminating(nested):
        return "Stop"
    if is_terminal(host):
        return "Sync"
    if is_terminal(nested):
        return "Remove"
    if is_suspended:
        return "Evict" if host["spec"].get("nodeName") else "Withdraw"
    return "Sync"


def is_removal_due(nested: Object | None, host: Object) -> bool:
    """True when the host pod's deletion is still to be asked for, or is to be sooner than was asked for."""
    meta = host["metadata"]
    if not meta.get("deletionTimestamp"):
        return True
    grace = nested["metadata"].get("deletionGracePeriodSeconds") if nested else None
    return grace is not None and grace < (meta.get("deletionGracePeriodSeconds") or 0)


def _without_host(nested: Object, had_host: bool, is_suspended: bool) -> Action:
    if is_terminating(nested):
        return "Finish"
    if is_terminal(nested) or nested["spec"].get("schedulingGates"):
        return "Nothing"
    if is_suspended:
        return "Evict" if is_bound(nested) else "Hold"
    return "Lose" if had_host or is_bound(nested) else "Create"
