"""Who starts next, and what the others wait for: first come, first served. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from nestor.operator.guests.queue.entry import Entry
from nestor.operator.guests.queue.needs import Amounts

TOLD = 100
"""Positions beyond it are not told: otherwise each job that starts would change the status of all that wait."""


@dataclass(frozen=True)
class Wait:
    """What a job waits for. Only the next one is told what is free: that changes all the time."""

    position: int | None = None
    """Its place in the line of its class; 1 is next. None beyond `TOLD`."""
    is_crowded: bool = False
    """Its namespace has as many jobs as it may, and it has no place in the line."""
    free: tuple[tuple[str, Decimal], ...] = ()
    """Of what too little is free, and how much is."""
    running: int = 0
    ending: int = 0


def decide(entries: Collection[Entry], limits: Amounts, most: int | None) -> tuple[list[str], dict[str, Wait]]:
    """The UIDs of the jobs of a class that start now, and what the others wait for. `most`: how many one namespace may have.

    Nobody passes anybody: a job that does not fit holds up all that came after it, so it starts however many smaller ones come.
    """
    crowded = _find_crowded(entries, most)
    waits = dict.fromkeys(crowded, Wait(is_crowded=True))
    holding = [entry for entry in entries if entry.state == "Holds"]
    free = {name: limit - sum(entry.needs.get(name, Decimal(0)) for entry in holding) for name, limit in limits.items()}
    ending = sum(entry.is_ending for entry in holding)
    waiting = [entry for entry in entries if entry.state == "Waits" and entry.uid not in crowded]
    line = sorted(waiting, key=lambda each: each.order)
    started: list[str] = []
    for place, entry in enumerate(line):
        counted = {name: amount for name, amount in entry.needs.items() if name in free and amount > 0}
        missing = tuple((name, max(free[name], Decimal(0))) for name, amount in counted.items() if free[name] < amount)
        if missing:
            running = len(holding) - ending + len(started)
            waits[entry.uid] = Wait(1, free=missing, running=running, ending=ending)
            behind = enumerate(line[place + 1 :], 2)
            waits |= {other.uid: Wait(position if position <= TOLD else None) for position, other in behind}
            break
        started.append(entry.uid)
        for name, amount in counted.items():
            free[name] -= amount
    return started, waits


def _find_crowded(entries: Collection[Entry], most: int | None) -> set[str]:
    """Those for which their namespace has no room: who was admitted stays, then whoever was created first."""
    if most is None:
        return set()
    taken = Counter(entry.namespace for entry in entries if entry.seat == "Holds")
    crowded = set()
    for entry in sorted((entry for entry in entries if entry.seat == "Waits"), key=lambda each: each.age):
        if taken[entry.namespace] >= most:
            crowded.add(entry.uid)
        taken[entry.namespace] += 1
    return crowded
