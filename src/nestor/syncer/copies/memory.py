"""What is remembered by key, and forgotten again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Told(Generic[K]):
    """What was told about each key last: the same is said once, until it is forgotten."""

    def __init__(self) -> None:
        self._told: dict[K, object] = {}

    def is_news(self, key: K, message: object) -> bool:
        """True when this was not what was told last; from now on it is."""
        is_news = self._told.get(key) != message
        self._told[key] = message
        return is_news

    def forget(self, key: K) -> None:
        """It is over: should it come again, it is news."""
        self._told.pop(key, None)

    def __len__(self) -> int:
        return len(self._told)


class Locks(Generic[K]):
    """A lock per key, for as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[K, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, key: K) -> AsyncIterator[None]:
        """Alone with that key for the length of a `with` block."""
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
