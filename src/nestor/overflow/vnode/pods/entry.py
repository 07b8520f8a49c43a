"""One pod of a virtual node, with what this process remembers of it."""

import time
from dataclasses import dataclass, field

from nestor.api import labels, times
from nestor.api.objects import Object, annotations_of, is_of_daemon_set, spec_of, status_of
from nestor.kube import Api
from nestor.overflow.vnode.pods import decide, status
from nestor.overflow.vnode.pods.decide import Facts, Mark, There

LOST = "BackendLost"
"""Reason of pods that were given up, because their backend did not know them any more."""


@dataclass(frozen=True)
class Home:
    node: str
    shape: str
    api: Api


@dataclass
class Entry:
    """One pod. Times are of the monotonic clock: that of the API server may differ from ours."""

    home: Home
    pod: Object | None
    last: Object
    """The newest state of the host pod, the last one before its deletion included."""
    seen: float = field(default_factory=time.monotonic)
    ending_since: float | None = None
    """When it was first seen terminating."""
    mark: Mark = ""
    """What was written last, which the cache may not show yet."""
    there: There = "Unknown"
    remote: Object | None = None
    missing_since: float | None = None
    asked: int | None = None
    """Grace period of the last request to end it, in seconds."""
    asked_at: float = 0
    is_creating: bool = False
    refusal: str = ""
    """Why the backend cannot run it, if trying again would not help."""
    is_over: bool = False
    is_forgotten: bool = False
    """Its deletion was requested; only finalizers of others keep it."""
    gone_since: float | None = None
    is_named: bool = False
    pause_until: float = 0
    """When it may be sent again after a failure."""
    failures: int = 0
    rejections: tuple[float, float] = (0.0, 0.0)
    """When the backend has first said no to it, of a row without a longer pause, and when last."""
    waits_for_room: bool = False
    """The last attempt to send it failed for want of room at the backend."""
    told: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The last event with each reason: its text, and when that was."""
    carried: dict[str, str] | None = None
    """What of the pod may change, as the backend has it: digests. None: this process has not compared it yet."""
    rejected: dict[str, str] | None = None
    """The same as the backend has last refused it, and until when that is not tried again."""
    rejected_until: float = 0
    written: Object | None = None
    """The last patch of its status, and when that was written."""
    written_at: float = 0

    @property
    def uid(self) -> str:
        """UID of the host pod, by which the backend knows it too."""
        uid: str = self.last["metadata"]["uid"]
        return uid

    @property
    def grace(self) -> int:
        """Seconds that its containers may take to end."""
        asked = self.last["metadata"].get("deletionGracePeriodSeconds")
        if asked is not None:
            return int(asked)
        return 0 if self.pod is None else int(spec_of(self.pod).get("terminationGracePeriodSeconds", 30))

    @property
    def has_ended_there(self) -> bool:
        return self.remote is not None and status.has_ended(self.last, self.remote)

    @property
    def progress(self) -> object:
        """What an action may change on which the next one depends."""
        return self.mark, self.there, self.asked, self.is_named

    @property
    def can_adopt_mark(self) -> bool:
        """Whether what its status says of its being sent may be news: this process has not sent it, nor had it refused."""
        return not (self.is_creating or self.failures or self.refusal or self.is_over)

    def note_status(self, found: Object) -> bool:
        """Note the status at the backend. True if it is another one than before."""
        is_new = self.there != "Present" or self.remote != found
        self.there, self.remote, self.missing_since = "Present", found, None
        return is_new

    def note_rejected(self, pause: float) -> float:
        """The backend says no again. For how many seconds it has, without a `pause` in which it may not have been well."""
        now, (first, last) = time.monotonic(), self.rejections
        self.rejections = (first if last and now - last < pause else now), now
        return now - self.rejections[0]

    def note_lost(self) -> None:
        """Note that the pod was given up. The backend may have hidden it only: should it come back, it is ended."""
        self.there, self.missing_since = "Unknown", time.monotonic()

    @property
    def is_lost(self) -> bool:
        return status_of(self.last).get("reason") == LOST

    def note_gone(self) -> None:
        self.there = "Gone"

    def read_facts(self, *, is_answering: bool) -> Facts:
        now, pod = time.monotonic(), self.pod
        own = status_of(self.last)
        again = None if self.asked is None else self.asked_at + self.asked + decide.REPEAT_SECONDS - now
        return Facts(
            pod,
            self.mark,
            self.there,
            has_started=status.has_started(self.last, own) or status.has_started(self.last, self.remote or {}),
            has_ended_there=self.has_ended_there,
            is_answering=is_answering,
            is_creating=self.is_creating,
            is_over=self.is_over,
            is_named=self.is_named,
            was_asked=self.asked is not None and self.asked <= self.grace and (again or 0) > 0,
            is_declined=is_of_daemon_set(self.last),
            is_refused=bool(self.refusal),
            missing=None if self.missing_since is None else now - self.missing_since,
            waited=self._find_wait(now),
            pending_seconds=_read_limit(self.last),
            asks_again=again,
            expires=_find_expiry(self.last),
            overdue=self._find_overdue(now),
        )

    def _find_wait(self, now: float) -> float:
        """Seconds since the pod was sent or, before that, since it was first seen."""
        start = status_of(self.last).get("startTime")
        return max(0.0, times.seconds_since(start)) if self.mark and start else now - self.seen

    def _find_overdue(self, now: float) -> float:
        if self.gone_since is not None:
            return now - self.gone_since
        return now - self.ending_since - self.grace if self.ending_since is not None else 0


def build_entry(home: Home, pod: Object) -> Entry:
    """An entry for a pod whose host pod is gone."""
    return Entry(home, None, pod, mark="Accepted", there="Present", gone_since=time.monotonic())


def _read_limit(pod: Object) -> float | None:
    text = annotations_of(pod).get(labels.PENDING_SECONDS, "")
    return float(text) if text.isdecimal() and 0 < len(text) < 10 else None


def _find_expiry(pod: Object) -> float | None:
    seconds, start = spec_of(pod).get("activeDeadlineSeconds"), status_of(pod).get("startTime")
    return seconds - times.seconds_since(start) if seconds is not None and start else None
