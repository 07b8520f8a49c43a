"""What a job's place is, by its own record alone: its status survives any operator. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from nestor.api import conditions, times
from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.quantities import parse_quantity
from nestor.operator.admission.identity import find_machine_name
from nestor.operator.admission.turn import find_quota
from nestor.operator.lifecycle.record import has_started, is_running, wants_to_run

JOBS = "jobs"
"""The amount that counts jobs themselves."""

Amounts = Mapping[str, Decimal]


def find_limits(policy: NestedClassSpec) -> Amounts:
    queue = policy.queue
    found = {name: parse_quantity(str(value)) for name, value in (queue.quota or {}).items()}
    return found if queue.max_jobs is None else found | {JOBS: Decimal(queue.max_jobs)}


def find_needs(policy: NestedClassSpec, machine: str | None, reserved: Object | None = None) -> Amounts:
    """What a job counts for. `reserved`: what it started with, if it runs. What nothing bounds counts for nothing."""
    amounts = find_quota(policy, machine) | {name: str(value) for name, value in (reserved or {}).items()}
    return {JOBS: Decimal(1)} | {name: parse_quantity(amounts.get(name, "0")) for name in policy.queue.quota or {}}


def find_fault(policy: NestedClassSpec, class_name: str, machine: str | None) -> tuple[str, str] | None:
    """Why a job on that machine could never start: reason and message."""
    quota, on = find_quota(policy, machine), f" on machine '{machine}'" if machine else ""
    for name, limit in (policy.queue.quota or {}).items():
        if name not in quota:
            message = (
                f"class '{class_name}' limits `{name}` of all its jobs, but a job{on} has no quota for it, so it is not known "
                "how much it would use"
            )
            return conditions.QUEUE_UNBOUNDED, message
        if parse_quantity(quota[name]) > parse_quantity(str(limit)):
            message = f"a job{on} may use {quota[name]} of `{name}`; all jobs of class '{class_name}' together, {limit}"
            return conditions.TOO_LARGE, message
    return None


State = Literal["Holds", "Waits", "Out"]
"""`Holds`: it runs, or may. `Out`: it does not want to run, or could not."""
Said = Literal["Given", "Asking", "Refused", "Reading"]
"""What this process last did with a job, which its status may not show yet: gave it a place, is looking at it, refused it for a
reason of its own, took its place back because reading its AppDef takes too long."""
Fault = tuple[str, str]
"""Reason and message."""
UNREADABLE = (conditions.IMAGE_PULL_FAILED, conditions.UNSCHEDULABLE)
"""Why an AppDef is not being read, though it may be later."""


@dataclass(frozen=True)
class Entry:
    uid: str
    name: str
    namespace: str
    class_name: str
    seat: State
    """Its place among the jobs of its namespace: what was ever admitted holds it until it is deleted."""
    age: tuple[str, str]
    """The order in its namespace: as created."""
    state: State
    """Its place in its class."""
    since: str
    """When it came to the line of the class; empty unless it waits, or is to wait once its pods are gone."""
    needs: Amounts
    fault: Fault | None = None
    """Why it could never start, if it wants to."""
    is_ending: bool = False
    """It was stopped or deleted, and holds its place until its pods are gone."""

    @property
    def is_back(self) -> bool:
        """Whether it is to run again, while its pods from before are still ending."""
        return self.is_ending and bool(self.since)

    @property
    def order(self) -> tuple[float, str]:
        """What sorts the line of the class: first come, first served."""
        return times.read(self.since).timestamp(), self.uid


def read_entry(
    job: Object,
    policy: NestedClassSpec | None,
    now: str,
    said: Said | None = None,
    *,
    has_pods: bool = False,
    default: str = FALLBACK,
) -> Entry:
    """The job's entry. `now`: when it came, if nothing says so yet. `has_pods`: it was stopped, and its pods are not gone from
    the host yet. `default`: the class of jobs that name none.
    """
    meta, machine = job["metadata"], find_machine_name(job)
    name, state = find_class_name(job, default), _read_state(job, said, has_pods=has_pods)
    fault = find_fault(policy, name, machine) if policy and state == "Waits" else None
    state, is_ending = "Out" if fault else state, _is_ending(job, said, has_pods=has_pods)
    reserved = status_of(job).get("reserved") if is_running(job) or is_ending else None
    return Entry(
        uid=meta["uid"],
        name=meta["name"],
        namespace=meta["namespace"],
        class_name=name,
        seat=_read_seat(job, said),
        age=(meta.get("creationTimestamp", ""), meta["uid"]),
        state=state,
        since=find_since(job, now) if state == "Waits" or (is_ending and wants_to_run(job)) else "",
        needs=find_needs(policy, machine, reserved) if policy and state != "Out" else {},
        fault=fault,
        is_ending=is_ending,
    )


def _read_seat(job: Object, said: Said | None) -> State:
    if said == "Given" or has_started(job):
        return "Holds"
    return "Waits" if not is_terminating(job) and _is_asking(job, said) else "Out"


def _read_state(job: Object, said: Said | None, *, has_pods: bool) -> State:
    if is_running(job) or _is_ending(job, said, has_pods=has_pods):
        return "Holds"
    if not wants_to_run(job) or not _is_asking(job, said) or _is_reading(job, said):
        return "Out"
    return "Holds" if said == "Given" else "Waits"


def _is_ending(job: Object, said: Said | None, *, has_pods: bool) -> bool:
    """Whether only its pods hold its place. Not of a job that was just let in again, which its status does not say yet."""
    if is_running(job):
        return is_terminating(job)
    return has_pods and not (said == "Given" and wants_to_run(job))


def _is_asking(job: Object, said: Said | None) -> bool:
    """Whether it would start if there were room, as far as anybody knows."""
    if said is not None:
        return said != "Refused"
    admitted = conditions.find(conditions_of(job), conditions.ADMITTED)
    return admitted is None or admitted["status"] != "False" or admitted["reason"] in conditions.WAITS


def _is_reading(job: Object, said: Said | None) -> bool:
    """Whether it has given its place back until its AppDef is read."""
    if said is not None:
        return said == "Reading"
    admitted = conditions.find(conditions_of(job), conditions.ADMITTED) or {}
    return admitted.get("status") == "Unknown" and admitted["reason"] in UNREADABLE


def find_since(job: Object, now: str) -> str:
    """When it came to the line of its class. Only a job that could start from the beginning came when it was created; one that
    was suspended, refused or could not be read comes when that has changed: nobody keeps a place by jobs that cannot start.
    """
    if found := (status_of(job).get("queue") or {}).get("since"):
        return str(found)
    admitted = conditions.find(conditions_of(job), conditions.ADMITTED)
    is_first = admitted is None or admitted["reason"] in conditions.WAITS
    created = job["metadata"].get("creationTimestamp")
    return str(created if created and is_first and not has_started(job) else now)
