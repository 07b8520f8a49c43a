"""How many jobs of a class one namespace may have: first come, first served, and who was admitted stays. Pure."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from nestor.operator.queueing.entry import Entry, Order
from nestor.operator.queueing.order import EXACT


@dataclass
class Room:
    """The jobs of one class in one namespace. A change costs as much as the places that it gives or takes."""

    limit: int | None = None
    held: set[str] = field(default_factory=set)
    """Those that were ever admitted."""
    line: list[Order] = field(default_factory=list)
    """The others, in the order of their creation."""
    _inside: int = 0
    """How many of the line there is room for."""

    def add(self, entry: Entry) -> set[str]:
        """Take a job in; returns whose turn has come or gone, as all these methods do."""
        if entry.room == "Holds":
            self.held.add(entry.uid)
        elif entry.room == "Waits":
            place = bisect.bisect_left(self.line, entry.age)
            self.line.insert(place, entry.age)
            if place < self._inside:
                self._inside += 1
                return {entry.uid} | self._settle()
        return self._settle()

    def remove(self, entry: Entry) -> set[str]:
        """Forget a job."""
        self.held.discard(entry.uid)
        place = bisect.bisect_left(self.line, entry.age)
        if entry.room == "Waits" and self.line[place : place + 1] == [entry.age]:
            del self.line[place]
            self._inside -= place < self._inside
        return self._settle()

    def set_limit(self, limit: int | None) -> set[str]:
        """Another limit."""
        self.limit = limit
        return self._settle()

    def has_room(self, entry: Entry) -> bool:
        """Whether the job is among those that the namespace may have."""
        return entry.room == "Holds" or (entry.room == "Waits" and bisect.bisect_left(self.line, entry.age) < self._inside)

    def count_ahead(self, entry: Entry) -> int:
        """How many jobs came first, with those that were admitted."""
        return len(self.held) + bisect.bisect_left(self.line, entry.age)

    def count_surplus(self, entry: Entry) -> int:
        """How many jobs have to go before it, as it is told: eleven stands for more."""
        return min(self.count_ahead(entry) - (self.limit or 0) + 1, EXACT + 1)

    def list_next(self) -> list[tuple[str, int]]:
        """Those for which there is no room, as far as their surplus is exact, and one more; each with its surplus."""
        first = len(self.held) - (self.limit or 0) + self._inside + 1
        found = self.line[self._inside : self._inside + max(0, EXACT + 2 - first)]
        return [(uid, first + place) for place, (_, uid) in enumerate(found)]

    def _settle(self) -> set[str]:
        free = len(self.line) if self.limit is None else min(len(self.line), max(0, self.limit - len(self.held)))
        low, high = sorted((self._inside, free))
        self._inside = free
        return {uid for _, uid in self.line[low:high]}
