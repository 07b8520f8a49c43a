"""A work queue of keys: each key at most once waiting and once running, failures retried with growing delays."""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from nestor.kube.errors import ApiError

K = TypeVar("K", bound=Hashable)

log = logging.getLogger(__name__)


class RetryLater(Exception):
    """Raised by a worker to be called again for the same key after `delay` seconds; not an error."""

    def __init__(self, delay: float, why: str = "") -> None:
        super().__init__(why or f"again in {delay} s")
        self.delay = delay


class _Lanes(Generic[K]):
    """Waiting keys, in lanes that take turns: whoever fills one lane delays only those in it."""

    def __init__(self, lane_of: Callable[[K], Hashable]) -> None:
        self._lane_of = lane_of
        self._lanes: dict[Hashable, deque[K]] = {}
        """The lane whose turn it is comes first."""
        self._count = asyncio.Semaphore(0)

    def put(self, key: K) -> None:
        self._lanes.setdefault(self._lane_of(key), deque()).append(key)
        self._count.release()

    async def get(self) -> K:
        await self._count.acquire()
        lane = next(iter(self._lanes))
        waiting = self._lanes.pop(lane)
        key = waiting.popleft()
        if waiting:
            self._lanes[lane] = waiting
        return key


class WorkQueue(Generic[K]):
    """Feeds keys to `work`, `workers` at a time, never two runs of one key at once.

    A key added while it runs is run once more afterwards. An exception from `work` is logged and the key retried with
    exponential back-off and jitter, from `first_delay` to `max_delay` seconds; a success resets its back-off. When `work` returns
    a number, or raises `RetryLater`, the key is worked on again after so many seconds. Keys of different `lane_of` take turns.
    `begin` is awaited before the first key is worked on.

    The lag of a key is the time from when it was added, to be worked on now, until `work` has not failed. What `work` then waits
    for, to be called again, is no lag.
    """

    def __init__(
        self,
        work: Callable[[K], Awaitable[float | None]],
        *,
        workers: int = 10,
        name: str = "queue",
        first_delay: float = 0.2,
        max_delay: float = 60,
        lane_of: Callable[[K], Hashable] = lambda _: None,
        begin: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._work = work
        self._begin = begin
        self._workers = workers
        self._name = name
        self._first_delay = first_delay
        self._max_delay = max_delay
        self._ready = _Lanes(lane_of)
        self._waiting: set[K] = set()
        self._running: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._since: dict[K, float] = {}
        self._is_ending = False
        self.done, self.lag = 0, 0.0
        """How many keys were worked off, and the sum of their lags in seconds."""
        self.failed, self.postponed = 0, 0
        """How often `work` has failed, and raised `RetryLater`."""

    def add(self, key: K, delay: float = 0) -> None:
        """Have `key` worked on, now or after `delay` seconds (the earliest wish counts)."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if delay > 0:
            if timer is not None and timer.when() <= loop.time() + delay:
                return
            if timer is not None:
                timer.cancel()
            self._timers[key] = loop.call_later(delay, self._due, key)
            return
        if timer is not None:
            self._timers.pop(key).cancel()
        self._since.setdefault(key, time.monotonic())
        self._enqueue(key)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running)

    def count_due(self, within: float) -> int:
        """How many keys wait, run, or are due in so many seconds."""
        soon = asyncio.get_running_loop().time() + within
        return len(self) + sum(timer.when() < soon for timer in self._timers.values())

    def __contains__(self, key: K) -> bool:
        return key in self._waiting or key in self._running

    @property
    def oldest(self) -> float:
        """The longest lag of the keys that are not worked off yet, in seconds."""
        return time.monotonic() - min(self._since.values()) if self._since else 0.0

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self._enqueue(key)

    def _enqueue(self, key: K) -> None:
        if key in self._running:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.put(key)

    async def run(self) -> None:
        self._is_ending = False
        try:
            if self._begin is not None:
                await self._begin()
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._worker(), name=f"{self._name}-{number}")
                try:
                    await asyncio.Event().wait()
                finally:
                    self._is_ending = True
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _worker(self) -> None:
        while not self._is_ending:  # a failure in the moment of its cancellation may hide that from it
            key = await self._ready.get()
            self._waiting.discard(key)
            self._running.add(key)
            try:
                delay = await self._work(key)
                self._settle(key)
                if delay is not None:
                    self.add(key, delay)
            except RetryLater as later:
                self.postponed += 1
                self._settle(key)
                self.add(key, later.delay)
            except Exception as error:
                self.failed += 1
                self.add(key, self._backoff(key, error))
            finally:
                self._running.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self._since.setdefault(key, time.monotonic())
                    self._enqueue(key)

    def _settle(self, key: K) -> None:
        self._failures.pop(key, None)
        since = self._since.pop(key, None)
        if since is not None:  # otherwise it was just due again
            self.done += 1
            self.lag += time.monotonic() - since

    def _backoff(self, key: K, error: Exception) -> float:
        count = self._failures[key] = self._failures.get(key, 0) + 1
        delay: float = min(self._max_delay, self._first_delay * 2 ** (count - 1)) * random.uniform(0.8, 1.2)
        # A conflict or a short outage is ordinary; only what persists, and is no server's or network's, is worth a stack trace.
        log.log(
            logging.WARNING if count >= 3 else logging.INFO,
            "%s: %s failed (%d in a row), again in %.1f s: %s",
            self._name,
            key,
            count,
            delay,
            error,
            exc_info=error if count == 3 and not isinstance(error, ApiError | OSError) else None,
        )
        return delay
