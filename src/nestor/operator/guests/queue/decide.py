"""Who starts next, and what the others are told that they wait for: first come, first served. Pure."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from nestor.api.quantities import write_quantity
from nestor.operator.admission.identity import JobIdentity
from nestor.operator.guests.queue.entry import JOBS, Amounts, Entry

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


def explain_line(class_name: str, limits: Amounts, entry: Entry, wait: Wait) -> str:
    where = "next" if wait.position == 1 else f"number {wait.position}" if wait.position else f"behind more than {TOLD - 1} jobs"
    said = f"{where} in the queue of class '{class_name}'"
    if wait.position != 1:
        needs = [f"{write_quantity(entry.needs[name])} of `{name}`" for name in limits if name != JOBS and entry.needs.get(name)]
        return f"{said}; it needs {', '.join(needs)}" if needs else said
    told = [_explain_missing(limits, entry, wait, *item) for item in wait.free]
    if wait.ending and JOBS not in dict(wait.free):
        told.append("1 job is ending" if wait.ending == 1 else f"{wait.ending} jobs are ending")
    return "; ".join([said, *told])


def explain_own_pods(class_name: str) -> str:
    """For a job that is to run again before its pods are gone."""
    return (
        "its pods from before it was stopped are still ending; when they are gone, it waits for its turn in the queue of class "
        f"'{class_name}'"
    )


def _explain_missing(limits: Amounts, entry: Entry, wait: Wait, name: str, free: Decimal) -> str:
    if name != JOBS:
        return f"it needs {write_quantity(entry.needs[name])} of `{name}`, {write_quantity(free)} available"
    ending = f", ending: {wait.ending}" if wait.ending else ""
    return f"jobs running: {wait.running} of {limits[JOBS]}{ending}"


def explain_crowd(known: JobIdentity, most: int) -> str:
    """For a job that waits until its namespace has fewer."""
    name = known.class_name
    if most == 0:
        return f"class '{name}' allows no jobs: its `maxJobsPerNamespace` is 0. Create the job with another class"
    jobs = "1 job" if most == 1 else f"{most} jobs"
    return (
        f"class '{name}' allows {jobs} per namespace, and namespace '{known.namespace}' has reached that (ended jobs count until "
        "they are deleted); this job waits for room"
    )
