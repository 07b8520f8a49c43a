"""Requests to create whose fate is unknown: nothing may run twice, so nothing is repeated while one may still be at work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Fates:
    """Remembers which pods were sent, and lets only one request at a time change a pod."""

    def __init__(self, settle_seconds: float) -> None:
        self._settle = settle_seconds
        self._sent: dict[str, float | None] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._started = time.monotonic()

    @asynccontextmanager
    async def hold(self, uid: str) -> AsyncIterator[None]:
        """Keep all other requests for this pod waiting."""
        lock = self._locks.get(uid)
        if lock is None:
            lock = self._locks[uid] = asyncio.Lock()
        async with lock:
            yield

    def send(self, uid: str) -> None:
        """A request to create this pod is about to be sent: until the answer is here, it may be lost."""
        self._sent[uid] = time.monotonic()

    def lose(self, uid: str) -> None:
        """The answer was lost, just now."""
        self._sent[uid] = time.monotonic()

    def settle(self, uid: str) -> None:
        """The answer is here, whatever it says."""
        self._sent[uid] = None

    def forget(self, uid: str) -> None:
        """Nobody wants the pod any more."""
        self._sent.pop(uid, None)

    def was_sent(self, uid: str) -> bool:
        """True if the backend may know the pod from this process."""
        return uid in self._sent

    def is_lost(self, uid: str) -> bool:
        """True while the backend may still be at work on a request of this process whose answer was lost."""
        at = self._sent.get(uid)
        return at is not None and time.monotonic() - at < self._settle

    def may_be_lost(self, uid: str) -> bool:
        """The same, also for a request of an earlier process, of which nothing is known."""
        return self.is_lost(uid) or (uid not in self._sent and time.monotonic() - self._started < self._settle)
