"""The line of one class, kept in order: a change costs little, however many wait. Pure."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from nestor.operator.queueing.entry import Entry, Order
from nestor.operator.queueing.order import Amounts, Waiting, decide, round_position


@dataclass
class Line:
    """The jobs of a class that run or wait. `limits`: what they may have together, by amount."""

    limits: Amounts = field(default_factory=dict)
    used: dict[str, Decimal] = field(default_factory=dict)
    holding: dict[str, Amounts] = field(default_factory=dict)
    ending: set[str] = field(default_factory=set)
    """Those of them that were stopped, and whose pods are not gone yet."""
    waiting: dict[str, Entry] = field(default_factory=dict)
    order: list[Order] = field(default_factory=list)

    @property
    def free(self) -> dict[str, Decimal]:
        """What the limits leave; below zero where they were lowered."""
        return {name: limit - self.used.get(name, Decimal(0)) for name, limit in self.limits.items()}

    def hold(self, uid: str, needs: Amounts, *, is_ending: bool = False) -> None:
        """The job runs, or its pods are ending."""
        self.drop(uid)
        self.holding[uid] = needs
        if is_ending:
            self.ending.add(uid)
        self._count(needs, 1)

    def wait(self, entry: Entry) -> None:
        """The job waits."""
        self.drop(entry.uid)
        self.waiting[entry.uid] = entry
        bisect.insort(self.order, entry.order)

    def drop(self, uid: str) -> None:
        """The job does neither."""
        if needs := self.holding.pop(uid, None):
            self._count(needs, -1)
        self.ending.discard(uid)
        if entry := self.waiting.pop(uid, None):
            del self.order[bisect.bisect_left(self.order, entry.order)]

    def start(self) -> list[str]:
        """Let in whose turn has come; returns their UIDs."""
        found = decide(self.free, self._list())
        for uid in found:
            self.hold(uid, self.waiting[uid].needs)
        return found

    def find_position(self, uid: str) -> int:
        """Its place in the line, as it is told; 1 is next."""
        return round_position(bisect.bisect_left(self.order, self.waiting[uid].order) + 1)

    def list_moved(self, told: dict[str, int]) -> Iterator[str]:
        """Who has another position than was told. Looks at both ends of each group with the same one, not at all jobs."""
        start = 0
        while start < len(self.order):
            position = round_position(start + 1)
            group = range(start, min(position, len(self.order)))
            for ends in (group, reversed(group)):
                for index in ends:
                    uid = self.order[index][1]
                    if told.get(uid) == position:
                        break
                    yield uid
            start = position

    def _list(self) -> Iterator[Waiting]:
        return (Waiting(uid, self.waiting[uid].needs) for _, uid in self.order)

    def _count(self, needs: Amounts, sign: int) -> None:
        for name, amount in needs.items():
            self.used[name] = self.used.get(name, Decimal(0)) + sign * amount
