"""Who starts next. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

JOBS = "jobs"
"""The amount that counts jobs themselves."""
DEPTH = 100
"""How many waiting jobs are looked at beyond those that start: else each change would cost a look at all of them."""
EXACT = 10
"""Up to here, positions are exact."""

Amounts = Mapping[str, Decimal]


@dataclass(frozen=True)
class Waiting:
    """A job that waits."""

    uid: str
    needs: Amounts = field(default_factory=dict)
    """What it counts for while it runs."""


def decide(free: Amounts, line: Iterable[Waiting]) -> list[str]:
    """The UIDs of the jobs that start now. `free`: what the limits leave, by amount; what is not in it has no limit.

    In the order of the line. A job goes before one that has to wait only if that costs the latter nothing: of everything that it
    takes, enough is left for all that wait before it. So whatever ends, nobody starts later because of who passed him. How long
    jobs run plays no part, since nobody knows it.
    """
    left, kept = dict(free), dict.fromkeys(free, Decimal(0))
    started, passed = [], 0
    for item in line:
        counted = {name: amount for name, amount in item.needs.items() if name in left and amount > 0}
        if all(left[name] - amount >= kept[name] for name, amount in counted.items()):
            started.append(item.uid)
            for name, amount in counted.items():
                left[name] -= amount
            continue
        passed += 1
        if passed > DEPTH:
            break
        for name, amount in counted.items():
            kept[name] += amount
    return started


def find_missing(free: Amounts, needs: Amounts) -> dict[str, Decimal]:
    """Of which amounts too little is free, and how much is free of each."""
    return {name: max(free[name], Decimal(0)) for name, amount in needs.items() if amount > 0 and free.get(name, amount) < amount}


def round_position(position: int) -> int:
    """The position as it is told: exact up to 10, then rounded up to 20, 30 … 100, 200 … 1000, 2000 …

    If it were exact, each job that starts would change the status of all that wait.
    """
    step = 1
    while position > EXACT * step:
        step *= 10
    return -(-position // step) * step
