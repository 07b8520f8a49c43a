"""Pods that the provider has no room for. Of those of one size, one asks again now and then; the others wait for its answer.

Thousands of pods may wait for a quota, which would refuse each of them for the same reason.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nestor.api import names
from nestor.api.objects import Object
from nestor.pods.translate.container_status import RUN, list_containers
from nestor.syncer import limits

FIRST_SECONDS = 5
LONGEST_SECONDS = 60
_PAUSE_SECONDS = 0.25
"""Between two requests for one size, however often there seems to be room."""
_MOST = 10
"""Of one size that may ask at once: when the room is used up, so many are refused."""


def find_delay(refusals: int) -> float:
    """Seconds until the next attempt, after so many refusals in a row."""
    return min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** (min(refusals, 10) - 1))


def find_size(pod: Object) -> str:
    """Equal for pods that quotas treat alike: by their resources, and by what the scopes of quotas look at."""
    spec = pod["spec"]
    resources = [[item.get("resources"), item.get("restartPolicy")] for _, item in list_containers(spec, RUN)]
    scopes = [spec.get("activeDeadlineSeconds") is not None, bool(spec.get("affinity"))]
    return names.digest_json([resources, spec.get("resources"), scopes], length=16)


def is_freed(old: Object | None, new: Object | None) -> bool:
    """True if a change of a ResourceQuota leaves more of anything than before."""
    if old is None or new is None:
        return new is None
    before, now = dict(limits.list_left(old)), dict(limits.list_left(new))
    return any(name not in now or now[name] > left for name, left in before.items())


@dataclass
class _Line:
    """Pods of one size. The more of them are admitted in a row, the more ask at once."""

    reason: str
    asking: set[str] = field(default_factory=set)
    waiting: dict[str, None] = field(default_factory=dict)
    admitted: int = 0
    """In a row; counted up to `_MOST`."""
    refused: int = 0
    """In a row, since there was last a reason to hope."""
    last: float = 0
    """When one was last refused."""


class Room:
    """Who may ask the provider for room, and who waits. Pods are known by the UIDs of the nested pods."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.wake: Callable[[str, float], None] = lambda _uid, _delay: None
        """Has a pod ask, after the seconds that it must still wait."""
        self._lines: dict[str, _Line] = {}
        self._places: dict[str, str] = {}
        """The size of each pod in a line."""

    def find_wait(self, uid: str, size: str) -> str:
        """Why the pod must wait for others of its size; empty if it may ask now."""
        line = self._lines.get(size)
        if line is None or uid in line.asking:
            return ""
        self._places[uid] = size
        if len(line.asking) < line.admitted:
            line.waiting.pop(uid, None)
            line.asking.add(uid)
            return ""
        line.waiting[uid] = None
        return line.reason

    def refuse(self, uid: str, size: str, reason: str) -> float | None:
        """The provider had no room for the pod. Seconds until it asks again; None if another one asks for it."""
        line = self._lines.setdefault(size, _Line(reason))
        line.reason, line.admitted, line.last = reason, 0, self._now()
        self._places[uid] = size
        line.asking.discard(uid)
        if line.asking:
            line.waiting[uid] = None
            return None
        line.asking.add(uid)
        line.waiting.pop(uid, None)
        line.refused += 1
        return find_delay(line.refused)

    def admit(self, uid: str, size: str) -> None:
        """The pod has got its room: there may be more."""
        self.leave(uid)
        if line := self._lines.get(size):
            line.admitted = min(line.admitted + 1, _MOST)
            line.refused = 0
            self._fill(size)

    def leave(self, uid: str) -> None:
        """The pod is gone, or waits for something else."""
        size = self._places.pop(uid, None)
        if size is not None and (line := self._lines.get(size)):
            line.asking.discard(uid)
            line.waiting.pop(uid, None)
            self._fill(size)

    def reopen(self, delay: float = 0) -> None:
        """There may be room again in so many seconds."""
        for line in self._lines.values():
            line.refused = 0
            for uid in line.asking:
                self.wake(uid, max(delay, line.last + _PAUSE_SECONDS - self._now()))

    def _fill(self, size: str) -> None:
        line = self._lines[size]
        while line.waiting and len(line.asking) < max(1, line.admitted):
            uid = next(iter(line.waiting))
            del line.waiting[uid]
            line.asking.add(uid)
            self.wake(uid, 0)
        if not line.asking:
            del self._lines[size]
