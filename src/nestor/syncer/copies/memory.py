"""Memory by key that can be forgotten again: messages told, and locks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Told(Generic[K]):
    """The last message about each key, so that nothing is reported twice in a row."""

    def __init__(self) -> None:
        self._told: dict[K, object] = {}

    def is_news(self, key: K, message: object) -> bool:
        """True if `message` differs from the last one; remembers it."""
        is_news = self._told.get(key) != message
        self._told[key] = message
        return is_news

    def forget(self, key: K) -> None:
        """Forget the last message: if it comes again, it is news."""
        self._told.pop(key, None)

    def __len__(self) -> int:
        return len(self._told)


class Locks(Generic[K]):
    """One lock per key, kept only while someone holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[K, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, key: K) -> AsyncIterator[None]:
        """Hold the lock of `key` for the duration of the `with` block."""
        lock, users = self._locks.get(key) or (asyncio.Lock(), 0)
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            users = self._locks[key][1] - 1
            if users:
                self._locks[key] = (lock, users)
            else:
                del self._locks[key]

    def __len__(self) -> int:
        return len(self._locks)
