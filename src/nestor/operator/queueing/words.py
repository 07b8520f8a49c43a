"""Tells users for what a job waits. Pure."""

from __future__ import annotations

from decimal import Decimal

from nestor.operator.admission.identity import JobIdentity
from nestor.operator.queueing.entry import Entry
from nestor.operator.queueing.line import Line
from nestor.operator.queueing.order import EXACT, JOBS, find_missing
from nestor.quantities import write_quantity


def explain_line(class_name: str, line: Line, entry: Entry, position: int) -> str:
    """For a job that waits in the line of its class. Only the next one is told what is free: that changes all the time."""
    where = "next" if position == 1 else f"number {position}" if position <= EXACT else f"among the first {position}"
    said = f"{where} in the queue of class '{class_name}'"
    if position > 1:
        needs = [f"{write_quantity(amount)} of `{name}`" for name, amount in entry.needs.items() if name != JOBS and amount > 0]
        return f"{said}; it needs {', '.join(needs)}" if needs else said
    missing = find_missing(line.free, entry.needs)
    told = [_explain_missing(line, entry, *item) for item in missing.items()]
    if line.ending and missing and JOBS not in missing:
        told.append("1 job is ending" if len(line.ending) == 1 else f"{len(line.ending)} jobs are ending")
    return "; ".join([said, *told])


def explain_own_pods(class_name: str) -> str:
    """For a job that is to run again before its pods are gone."""
    return (
        "its pods from before it was stopped are still ending; when they are gone, it waits for its turn in the queue of class "
        f"'{class_name}'"
    )


def _explain_missing(line: Line, entry: Entry, name: str, free: Decimal) -> str:
    if name == JOBS:
        ending, limit = len(line.ending), line.limits[JOBS]
        running = line.used.get(JOBS, Decimal(0)) - ending
        jobs = "1 job runs" if running == 1 else f"{running} jobs run"
        if not ending:
            return f"{jobs}, and {limit} may"
        return f"{jobs}, {ending} {'is' if ending == 1 else 'are'} ending, and {limit} may run"
    return f"it needs {write_quantity(entry.needs[name])} of `{name}`, and {write_quantity(free)} is free"


def explain_room(known: JobIdentity, limit: int, count: int) -> str:
    """For a job that waits until its namespace has fewer. `count`: how many came first."""
    name = known.class_name
    if limit == 0:
        return f"class '{name}' allows no jobs: its `maxJobsPerNamespace` is 0. Create the job with another class"
    gone = count - limit + 1
    if gone > EXACT:  # the number would change for all that wait, each time that one goes
        jobs, until = f"more than {limit + EXACT - 1} jobs", f"more than {EXACT} of them are deleted"
    else:
        jobs = "1 job" if count == 1 else f"{count} jobs"
        until = "it is deleted" if count == 1 else "one of them is deleted" if gone == 1 else f"{gone} of them are deleted"
    return (
        f"namespace '{known.namespace}' has {jobs} of class '{name}', which allows {limit} in a namespace; this one waits until "
        + until
    )
