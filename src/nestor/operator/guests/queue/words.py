"""Tells users for what a job waits. Pure."""

from __future__ import annotations

from decimal import Decimal

from nestor.operator.admission.identity import JobIdentity
from nestor.operator.guests.queue.decide import TOLD, Wait
from nestor.operator.guests.queue.entry import Entry
from nestor.operator.guests.queue.needs import JOBS, Amounts
from nestor.quantities import write_quantity


def explain_line(class_name: str, limits: Amounts, entry: Entry, wait: Wait) -> str:
    """For a job that waits in the line of its class."""
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
        return f"it needs {write_quantity(entry.needs[name])} of `{name}`, and {write_quantity(free)} is free"
    jobs = "1 job runs" if wait.running == 1 else f"{wait.running} jobs run"
    if not wait.ending:
        return f"{jobs}, and {limits[JOBS]} may"
    return f"{jobs}, {wait.ending} {'is' if wait.ending == 1 else 'are'} ending, and {limits[JOBS]} may run"


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
