"""What a job's status remembers of the job's life: the only memory there is, so that any operator can go on from it. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import cast

from nestor import times
from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.objects import Object, annotations_of, status_of


@dataclass(frozen=True)
class Restart:
    """A restart from an empty cluster: under way until the cluster's data is of `epoch`."""

    epoch: int
    time: str
    """When its cause was seen; it begins after a back-off."""
    message: str


@dataclass(frozen=True)
class Record:
    """The memory. Times are RFC 3339."""

    succeeded: Condition | None = None
    """None: the job was never admitted."""
    start_time: str | None = None
    completion_time: str | None = None
    suspend_time: str | None = None
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
        """Its fields in the job's status; None for those that are to go."""
        restart = self.restart
        return {
            "startTime": self.start_time,
            "completionTime": self.completion_time,
            "suspendTime": self.suspend_time,
            "restarts": self.restarts or None,
            "rerun": self.rerun or None,
            "restart": {"epoch": restart.epoch, "time": restart.time, "message": restart.message} if restart else None,
        }


def read_record(status: Object, now: datetime.datetime) -> Record:
    """The memory in a job's status. A time that is yet to come was written by a clock that was ahead: it is taken for now."""
    kept = status.get("restart")
    return Record(
        succeeded=_read_condition(status),
        start_time=_not_after(status.get("startTime"), now),
        completion_time=_not_after(status.get("completionTime"), now),
        suspend_time=_not_after(status.get("suspendTime"), now),
        restarts=status.get("restarts") or 0,
        restart=Restart(kept["epoch"], min(kept["time"], times.write(now)), kept.get("message", "")) if kept else None,
        rerun=status.get("rerun") or "",
    )


def find_rerun(job: Object) -> str:
    """Which run of the job the user wants, by the annotation's value. One who takes the annotation away wants no other one."""
    wanted = annotations_of(job).get(labels.RERUN)
    return wanted or status_of(job).get("rerun") or ""


def begin_anew(record: Record, rerun: str, restart: Restart | None) -> Record:
    """The same job, run once more."""
    return replace(record, rerun=rerun, restart=restart, restarts=0, start_time=None, completion_time=None)


def seconds_since(time: str | None, now: datetime.datetime) -> float:
    """Seconds from a recorded time, 0 when there is none."""
    return max(0.0, times.seconds_since(time, now)) if time else 0.0


def _read_condition(status: Object) -> Condition | None:
    found = conditions.find(status.get("conditions"), conditions.SUCCEEDED)
    if found is None:
        return None
    said = cast(conditions.Status, found["status"])
    return Condition(conditions.SUCCEEDED, said, found["reason"], found.get("message", ""))


def _not_after(time: str | None, now: datetime.datetime) -> str | None:
    return min(time, times.write(now)) if time else None
