"""Decides what to do about a nested pod and its host pod, which belong together by the nested UID. Pure."""

from typing import Literal

from nestor.api.objects import Object, is_terminating
from nestor.api.pod_status import is_terminal
from nestor.pods.translate.status import is_bound

Action = Literal[
    "Nothing",
    "Create",  # the nested pod wants to run
    "Sync",  # carry changes down and status up
    "Stop",  # the nested pod is being deleted: the host pod ends first
    "Finish",  # the host pod has ended: the nested pod is deleted
    "Remove",  # the nested pod is gone or has ended: the host pod is deleted
    "Follow",  # the host ends the host pod: the nested pod is deleted too, so that its controller replaces it
    "Lose",  # the host pod has vanished
    "Withdraw",  # the host pod has no node yet: it is deleted, and the nested pod waits, or gets another one by today's rules
    "TakeBack",  # the gang of the host pod could not start as a whole: the nested pod fails, so that its controller replaces it
    # While the cluster is suspended:
    "Hold",  # the nested pod wants to run, and waits
    "Evict",  # the nested pod must end; without a controller, it is recreated
]


def decide(
    nested: Object | None,
    host: Object | None,
    *,
    had_host: bool,
    is_suspended: bool = False,
    is_ending: bool = False,
    is_outdated: bool = False,
    is_taken_back: bool = False,
) -> Action:
    """The next action. `had_host`: a bound host pod of this UID has been seen before, whatever the caches contain now.

    `is_ending`: the cluster itself is being deleted, so that no pod of it needs a replacement. `is_outdated`: the host pod has no
    node yet, and the rules about where it may run have changed. `is_taken_back`: it may not go on, because of its
    gang or another one.
    """
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
    if is_taken_back and not is_terminating(host):
        return "TakeBack" if host["spec"].get("nodeName") else "Withdraw"
    if is_outdated and not is_terminating(host):
        return "Withdraw"
    return "Follow" if _has_to_end(host) and not is_ending else "Sync"


def is_removal_due(nested: Object | None, host: Object) -> bool:
    """True if the host pod must still be deleted, or sooner than requested so far."""
    meta = host["metadata"]
    if not meta.get("deletionTimestamp"):
        return True
    grace = nested["metadata"].get("deletionGracePeriodSeconds") if nested else None
    return grace is not None and grace < (meta.get("deletionGracePeriodSeconds") or 0)


def _has_to_end(host: Object) -> bool:
    """True if the host pod is on a node and has been given time to end. Without that, it is about to vanish."""
    return bool(is_terminating(host) and host["metadata"].get("deletionGracePeriodSeconds") and host["spec"].get("nodeName"))


def _without_host(nested: Object, had_host: bool, is_suspended: bool) -> Action:
    if is_terminating(nested):
        return "Finish"
    if is_terminal(nested) or nested["spec"].get("schedulingGates"):
        return "Nothing"
    if is_suspended:
        return "Evict" if is_bound(nested) else "Hold"
    return "Lose" if had_host or is_bound(nested) else "Create"
