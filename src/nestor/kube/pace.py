"""How often something may happen: token buckets, which let a burst pass and then keep a rate. The time is an argument."""

import json
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from nestor.kube.queue import RetryLater

K = TypeVar("K", bound=Hashable)

_ROUNDING = 1e-9
_LONGEST_WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Rate:
    """So many a second for good, and so many at once after a rest."""

    per_second: float
    burst: float


class Bucket:
    """One token bucket; full at first."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._level = rate.burst
        self._at = 0.0

    def find_wait(self, now: float, amount: float = 1) -> float:
        """Seconds until `amount` may pass; 0 if it may now. An amount larger than the burst takes a full bucket, and a debt."""
        missing = min(amount, self._rate.burst) - self._find_level(now)
        return missing / self._rate.per_second if missing > _ROUNDING else 0

    def take(self, now: float, amount: float = 1) -> None:
        self._level = self._find_level(now) - amount
        self._at = now

    def is_full(self, now: float) -> bool:
        """Whether it holds nothing to be remembered."""
        return self._find_level(now) >= self._rate.burst

    def _find_level(self, now: float) -> float:
        return min(self._rate.burst, self._level + (now - self._at) * self._rate.per_second)


class Buckets(Generic[K]):
    """A bucket per key, kept until it is full again."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: OrderedDict[K, Bucket] = OrderedDict()

    def find_wait(self, key: K, now: float) -> float:
        bucket = self._buckets.get(key)
        return bucket.find_wait(now) if bucket is not None else 0

    def take(self, key: K, now: float) -> None:
        self._buckets.setdefault(key, Bucket(self._rate)).take(now)
        self._buckets.move_to_end(key)
        # Two of them are looked at for each that comes, in turn, so that full ones go however empty others are.
        for first, bucket in list(islice(self._buckets.items(), 2)):
            if bucket.is_full(now):
                del self._buckets[first]
            else:
                self._buckets.move_to_end(first)

    def __len__(self) -> int:
        return len(self._buckets)


class Pace:
    """How fast a client may write: so many writes a second, and so many bytes.

    Bytes count only for writes above `small` bytes: the others are bounded by their number, and need not wait for large ones.
    """

    def __init__(self, writes: Rate, volume: Rate, small: int) -> None:
        self._writes = writes
        self._number = Bucket(writes)
        self._volume = Bucket(volume)
        self._small = small
        self._next = 0.0

    def find_wait(self, size: int, now: float) -> float:
        """0 if a write of `size` bytes may go out now; it then counts. Otherwise when to ask again: each asker at a moment of
        its own, as otherwise all would ask at once, and one be let through.
        """
        large = size if size > self._small else 0
        wait = max(self._number.find_wait(now), self._volume.find_wait(now, large))
        if not wait:
            self._number.take(now)
            self._volume.take(now, large)
            return 0
        self._next = max(self._next, now) + 1 / self._writes.per_second
        self._next = min(self._next, now + _LONGEST_WAIT_SECONDS)
        return max(wait, self._next - now)

    def check(self, body: Any) -> None:
        """Count this write. Raises `RetryLater` if there are too many: the caller then decides anew from what is so by then."""
        wait = self.find_wait(len(json.dumps(body)), time.monotonic())
        if wait:
            raise RetryLater(wait, "too many writes")
