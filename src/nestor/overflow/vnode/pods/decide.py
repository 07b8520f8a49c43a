"""Decides what to do about a host pod on a virtual node. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nestor.api.objects import Object, is_terminating
from nestor.api.pod_status import is_terminal

Mark = Literal["", "Sending", "Accepted"]
"""What the pod's own status says: never sent (or certainly not there any more), sent but not answered, accepted."""

There = Literal["Unknown", "Present", "Gone"]
"""What the backend has last said about the pod. Gone: it has said so when asked about this pod alone."""

Action = Literal[
    "Nothing",
    "Wait",  # nothing can be decided until the backend, or a request to it, answers
    "Create",  # the backend is to run it; repeated while the answer is unknown, since providers are idempotent by UID
    "Report",  # the backend's status becomes the pod's, also where the answer to its creation was lost
    "Confirm",  # ask the backend whether it still has this pod
    "Decline",  # no virtual node runs such pods: it stays Pending, and says why
    "Refuse",  # the backend cannot run it: it fails
    "Lose",  # the backend does not know it any more: it fails
    "Withdraw",  # held too long: end it at the backend, unless it has just started
    "Bounce",  # taken back: it fails, so that its owner makes another one elsewhere
    "Expire",  # its activeDeadlineSeconds are over, and it has ended at the backend: it fails
    "Delete",  # end it at the backend
    "Forget",  # it has ended at the backend: tell how, and delete the host pod, as a kubelet does
    "ForceForget",  # the same, though the backend has not confirmed it; tell what may be left
    "Name",  # its host pod is gone, and the backend has not confirmed its end: tell what may be left, and go on
    "Abandon",  # the same, after a day: tell it again, and remember it no longer
    "Drop",  # it is nowhere any more
]

FORGET_SECONDS = 600.0
"""How long after its grace period a pod waits for its backend to confirm that it has ended; then it is named."""
ORPHAN_SECONDS = 24 * 3600.0
"""How long a pod whose host pod is gone is remembered while the backend does not confirm its end."""
LOST_SECONDS = 60.0
"""How long a pod must be missing from the backend's answers before the backend is asked about it alone."""
REPEAT_SECONDS = 30.0
"""How long after its grace period a pod may still be there until it is asked to end again: backends forget such requests."""


@dataclass(frozen=True)
class Facts:
    pod: Object | None
    """The host pod. None: it is gone from the host cluster."""
    mark: Mark = ""
    there: There = "Unknown"
    has_started: bool = False
    """A container of it has run, so it must not be taken back."""
    has_ended_there: bool = False
    """Its last status at the backend is final."""
    is_answering: bool = True
    is_creating: bool = False
    is_over: bool = False
    """Its final status was written, which the cache may not show yet."""
    is_named: bool = False
    was_asked: bool = False
    """The backend was asked to end it, within the grace period that the host pod has now, and may still be doing so."""
    is_declined: bool = False
    is_refused: bool = False
    """The backend cannot run it, and trying again would not help."""
    missing: float | None = None
    """Seconds since it is missing from the backend's answers; None if it is not."""
    waited: float = 0
    """Seconds since it is on this node."""
    pending_seconds: float | None = None
    """How long the backend may leave it Pending. None: for ever."""
    asks_again: float | None = None
    """Seconds until the last request to end it is repeated. None: there was none."""
    expires: float | None = None
    """Seconds until its activeDeadlineSeconds are over. None: it has none."""
    overdue: float = 0
    """Seconds since it should have ended; negative before."""

    @property
    def is_late(self) -> bool:
        """The backend has held it back for too long."""
        return self.pending_seconds is not None and not self.has_started and self.waited > self.pending_seconds

    @property
    def is_there(self) -> bool:
        """The backend may have it, and it may still run. What has ended, and is to be removed, no longer matters.

        A pod whose request may still be at work is gone only once it was asked to end.
        """
        is_ended = self.was_asked and self.has_ended_there
        is_gone = self.there == "Gone" and (self.mark == "Accepted" or self.was_asked)
        return bool(self.mark) and not is_gone and not is_ended


def decide(facts: Facts) -> Action:
    if facts.is_creating:
        return "Wait"
    if facts.pod is None:
        return _decide_orphan(facts)
    if is_terminating(facts.pod):
        return _decide_ending(facts)
    if facts.is_over or is_terminal(facts.pod):
        # Somebody else may have failed it, as the garbage collector does: it must not run on.
        is_running = facts.is_there and facts.there == "Present" and not facts.has_ended_there
        return _end(facts, "Nothing") if is_running else "Nothing"
    if facts.is_declined:
        return "Decline"
    if facts.expires is not None and facts.expires <= 0 and facts.mark:
        return _end(facts, "Expire")
    if facts.is_late:
        return _end(facts, "Bounce")
    if facts.mark == "Accepted" or facts.there == "Present":
        return _decide_running(facts)
    if facts.is_refused:
        return "Refuse"
    # What was sent may be there: the backend's next answer about all pods tells.
    is_unsure = facts.mark == "Sending" and facts.there == "Unknown" and facts.missing is None
    return "Create" if facts.is_answering and not is_unsure else "Wait"


def find_due(facts: Facts) -> float | None:
    """Seconds until time alone may change the decision. None: it cannot."""
    return min((seconds for seconds in _find_times(facts) if seconds > 0), default=None)


def _find_times(facts: Facts) -> Iterator[float]:
    if facts.asks_again is not None and facts.is_there:
        yield facts.asks_again
    if facts.pod is None:
        if not facts.is_named and facts.is_there:
            yield FORGET_SECONDS - facts.overdue
        yield ORPHAN_SECONDS - facts.overdue
        return
    if is_terminating(facts.pod):
        yield FORGET_SECONDS - facts.overdue
        return
    if facts.is_over or is_terminal(facts.pod):
        return
    if facts.pending_seconds is not None and not facts.has_started:
        yield facts.pending_seconds - facts.waited
    if facts.expires is not None:
        yield facts.expires
    if facts.missing is not None:
        yield LOST_SECONDS - facts.missing


def _decide_orphan(facts: Facts) -> Action:
    if not facts.is_there:
        return "Drop"
    if facts.overdue > ORPHAN_SECONDS:
        return "Abandon"
    return _ask(facts) if facts.is_named or facts.overdue <= FORGET_SECONDS else "Name"


def _decide_ending(facts: Facts) -> Action:
    if not facts.is_there:
        return "Forget"
    return "ForceForget" if facts.overdue > FORGET_SECONDS else _ask(facts)


def _decide_running(facts: Facts) -> Action:
    if facts.there == "Gone":
        return "Lose"
    if facts.is_answering and facts.missing is not None and (facts.missing > LOST_SECONDS or facts.was_asked):
        return "Confirm"
    if facts.there == "Unknown":
        return "Wait"
    return "Report"


def _end(facts: Facts, final: Action) -> Action:
    """End it at the backend first, then do the final thing."""
    if not facts.is_there:
        return final
    if final == "Bounce" and facts.is_answering and not facts.was_asked:
        return "Withdraw"
    return _ask(facts)


def _ask(facts: Facts) -> Action:
    if not facts.is_answering:
        return "Wait"
    return "Confirm" if facts.was_asked else "Delete"
