"""What a job's status remembers about its lifecycle: the only memory, so that any operator can continue from it. Pure."""

import datetime
import math
from dataclasses import dataclass, replace
from typing import cast

from nestor.api import conditions, labels, times
from nestor.api.conditions import Condition
from nestor.api.objects import Object, annotations_of, is_terminating, spec_of, status_of
from nestor.operator.world.ownership import has_finalizer

KEPT = (conditions.STEP_FAILED,)
"""Ends after which the application is not stopped, but kept for inspection."""


@dataclass(frozen=True)
class Restart:
    """A restart in an empty cluster, in progress until the cluster's data reaches `epoch`."""

    epoch: int
    time: str
    """When its cause was seen; it starts after a back-off."""
    message: str


@dataclass(frozen=True)
class Record:
    """What the status remembers. Times are RFC 3339."""

    succeeded: Condition | None = None
    """None: the job was never admitted."""
    start_time: str | None = None
    completion_time: str | None = None
    suspend_time: str | None = None
    ran: int = 0
    """Seconds that it ran before `start_time`, until it was suspended or run again. A rerun after its end begins with 0."""
    restarts: int = 0
    restart: Restart | None = None
    rerun: str = ""

    @property
    def ended_by(self) -> str | None:
        """The reason why the job has ended, or None while it has not."""
        if self.completion_time is None or self.succeeded is None or self.succeeded.status == "Unknown":
            return None
        return self.succeeded.reason

    def to_status(self) -> Object:
        """The fields of the job's status; None for those to remove."""
        restart = self.restart
        return {
            "startTime": self.start_time,
            "completionTime": self.completion_time,
            "suspendTime": self.suspend_time,
            "ranSeconds": self.ran or None,
            "restarts": self.restarts or None,
            "rerun": self.rerun or None,
            "restart": {"epoch": restart.epoch, "time": restart.time, "message": restart.message} if restart else None,
        }


def read_record(status: Object, now: datetime.datetime) -> Record:
    """The record in a job's status. A time in the future comes from a clock that was ahead, and is replaced by now."""
    kept = status.get("restart")
    return Record(
        succeeded=_read_condition(status),
        start_time=_not_after(status.get("startTime"), now),
        completion_time=_not_after(status.get("completionTime"), now),
        suspend_time=_not_after(status.get("suspendTime"), now),
        ran=status.get("ranSeconds") or 0,
        restarts=status.get("restarts") or 0,
        restart=Restart(kept["epoch"], min(kept["time"], times.write(now)), kept.get("message", "")) if kept else None,
        rerun=status.get("rerun") or "",
    )


def find_rerun(job: Object) -> str:
    """Which run of the job the user wants, by the annotation's value. Removing the annotation does not request a new run."""
    wanted = annotations_of(job).get(labels.RERUN)
    return wanted or status_of(job).get("rerun") or ""


def is_rerun_due(job: Object) -> bool:
    """Whether a run was asked for that has not begun."""
    return find_rerun(job) != (status_of(job).get("rerun") or "")


def stop_clock(record: Record, now: datetime.datetime) -> Record:
    """The record of a job whose time no longer counts from its start: `ran` has all until now, inspection included."""
    end = times.read(record.suspend_time) if record.suspend_time else now
    return replace(record, ran=record.ran + math.ceil(seconds_since(record.start_time, end)), start_time=None)


def seconds_since(time: str | None, now: datetime.datetime) -> float:
    """Seconds since a recorded time; 0 if there is none."""
    return max(0.0, times.seconds_since(time, now)) if time else 0.0


def _read_condition(status: Object) -> Condition | None:
    found = conditions.find(status.get("conditions"), conditions.SUCCEEDED)
    if found is None:
        return None
    said = cast(conditions.Status, found["status"])
    return Condition(conditions.SUCCEEDED, said, found["reason"], found.get("message", ""))


def _not_after(time: str | None, now: datetime.datetime) -> str | None:
    return min(time, times.write(now)) if time else None


def has_started(job: Object) -> bool:
    """Whether it was ever admitted, as its timings say."""
    return bool((status_of(job).get("timings") or {}).get("admitted"))


def is_running(job: Object) -> bool:
    """Whether it may run: it was admitted, and has neither ended nor been suspended since. What it has is removed before our
    finalizer is; then, it is only its user who holds it.
    """
    is_left = is_terminating(job) and not has_finalizer(job)
    return has_started(job) and not is_left and not status_of(job).get("suspendTime") and _ended_by(job) in (None, *KEPT)


def was_stopped(job: Object) -> bool:
    """Whether it has run, and has ended or been suspended since, or is held by its user alone."""
    return has_started(job) and not is_running(job)


def is_asleep(job: Object) -> bool:
    """Whether it was put to sleep, and has not been woken since."""
    return (status_of(job).get("asleep") or {}).get("state") == "Asleep"


def wants_to_run(job: Object) -> bool:
    if is_terminating(job) or spec_of(job).get("suspend") or is_asleep(job):
        return False
    return _ended_by(job) in (None, *KEPT) or is_rerun_due(job)


def _ended_by(job: Object) -> str | None:
    return read_record(status_of(job), times.now()).ended_by
