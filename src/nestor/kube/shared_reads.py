"""Reads that several callers share, each of whom must see all that was so when it called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """One read at a time for each key. Who asks while one is under way shares the next one with all others who do: the slower the
    server is, the more they save it.
    """

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._running: dict[K, asyncio.Task[V]] = {}
        self._next: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        """What a read finds that begins after this call. Raises what the read raises."""
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._ask(key))
        return await asyncio.shield(self._next[key])

    async def _ask(self, key: K) -> V:
        if (running := self._running.get(key)) is not None:
            await asyncio.wait([running])
        self._running[key] = self._next.pop(key)
        try:
            return await self._read(key)
        finally:
            del self._running[key]
