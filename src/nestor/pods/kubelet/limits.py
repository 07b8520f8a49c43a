"""How much may be open at a time, and whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from nestor.kube import ApiError


class Slots:
    """Places for what stays open, each held by a task. With `is_shared`, whoever has fewer of them gets one from whoever has
    most, whose oldest task is cancelled: so nobody is shut out, however many others there are.
    """

    def __init__(self, limit: int, what: str, *, is_shared: bool = False) -> None:
        self._limit = limit
        self._what = what
        self._is_shared = is_shared
        self._held: dict[str, dict[object, asyncio.Task[object] | None]] = {}
        """By holder, the oldest first."""

    @contextmanager
    def take(self, who: str) -> Iterator[None]:
        """Hold a place. Raises `ApiError` with status 429 if there is none."""
        if sum(map(len, self._held.values())) >= self._limit and not self._make_room(who):
            raise ApiError(429, "TooManyRequests", f"{self._limit} {self._what} are open already")
        place = object()
        self._held.setdefault(who, {})[place] = asyncio.current_task()
        try:
            yield
        finally:
            self._release(who, place)

    def _make_room(self, who: str) -> bool:
        """Take a place from whoever has most, if that leaves him no fewer than `who` has then."""
        most = max(self._held, key=lambda name: len(self._held[name]), default=who)
        if not self._is_shared or len(self._held.get(most, ())) <= len(self._held.get(who, ())) + 1:
            return False
        oldest, task = next(iter(self._held[most].items()))
        self._release(most, oldest)
        if task is not None:
            task.cancel()
        return True

    def _release(self, who: str, place: object) -> None:
        places = self._held.get(who, {})
        places.pop(place, None)
        if not places:
            self._held.pop(who, None)
