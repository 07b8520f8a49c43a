"""Which gang may fill a quota that several share. Each with a part of it, they would wait for each other for ever.

The oldest gang comes first, and younger ones give back what their held pods have. One that has not become complete for a while
lets the next one try: the quota may be too small for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

TURN_SECONDS = 300.0
"""How long a gang may try while others wait."""


class Turns:
    """Gangs that a quota leaves no room for, by their keys; their pods, by nested UIDs."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._members: dict[str, dict[str, str]] = {}
        """When each pod of a gang was created."""
        self._gang_of: dict[str, str] = {}
        self._short: dict[str, set[str]] = {}
        """Pods of a gang that have no room."""
        self._missed: dict[str, int] = {}
        """How many turns of a gang were in vain."""
        self._began: tuple[str, float] = ("", 0)
        """Whose turn it is, and since when."""

    def join(self, uid: str, key: str, created: str) -> None:
        """The pod is in this gang."""
        self._gang_of[uid] = key
        self._members.setdefault(key, {})[uid] = created

    def forget(self, uid: str) -> list[str]:
        """The pod is gone. Returns the pods that may ask for room again."""
        woken, key = self.admit(uid), self._gang_of.pop(uid, "")
        members = self._members.get(key, {})
        members.pop(uid, None)
        if not members:
            self._members.pop(key, None)
        return woken

    def refuse(self, uid: str) -> bool:
        """There is no room for the pod. False: it is in no gang."""
        key = self._gang_of.get(uid)
        if key is not None:
            self._short.setdefault(key, set()).add(uid)
        return key is not None

    def admit(self, uid: str) -> list[str]:
        """The pod has got its room. Returns the pods of other gangs that may ask again, if its own is complete."""
        key = self._gang_of.get(uid, "")
        short = self._short.get(key, set())
        short.discard(uid)
        if short or key not in self._short:
            return []
        del self._short[key]
        self._missed.pop(key, None)
        return [other for others in self._short.values() for other in others]

    def is_behind(self, key: str) -> bool:
        """Whether the gang lacks room, and it is another one's turn."""
        return key in self._short and self._find_first() != key

    def _find_first(self) -> str:
        first, now = min(self._short, key=self._find_rank), self._now()
        if self._began[0] != first:
            self._began = (first, now)
        elif len(self._short) > 1 and now - self._began[1] >= TURN_SECONDS:
            self._missed[first] = self._missed.get(first, 0) + 1
            first = min(self._short, key=self._find_rank)
            self._began = (first, now)
        return first

    def _find_rank(self, key: str) -> tuple[int, str, str]:
        return self._missed.get(key, 0), min(self._members.get(key, {}).values(), default=""), key
