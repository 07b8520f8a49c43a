"""What can be done with a job now, and when it ends and is deleted. Pure."""

import datetime
from dataclasses import dataclass

from nestor.api.objects import Object, is_terminating, spec_of, status_of
from nestor.api.times import write
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import is_over, rests


@dataclass(frozen=True)
class Actions:
    suspend: bool
    resume: bool
    rerun: bool
    rerun_empties: bool
    """Whether running it again deletes its data."""
    delete: bool


def list_actions(job: Object) -> Actions:
    """By its state alone; whether the user may is the API server's to say."""
    going, over, is_resting = not is_terminating(job), is_over(job), rests(job)
    return Actions(
        suspend=going and not over and not is_resting,
        resume=going and not over and is_resting,
        rerun=going,
        rerun_empties=over,
        delete=going,
    )


@dataclass(frozen=True)
class Ends:
    """When the job is stopped, and when it is deleted; empty if never, or not yet known."""

    stops: str
    deleted: str
    is_limited: bool
    """Whether it may only run for so long."""
    is_endless: bool
    """Whether nothing but its user stops it."""
    can_run_longer: bool
    can_be_kept: bool


def find_ends(job: Object) -> Ends:
    """By its limits, which count from its start and from its end. What its class says is in the status, once it has started."""
    spec, status = spec_of(job), status_of(job)
    is_over, start = bool(status.get("completionTime")), status.get("startTime")
    own, ttl = spec.get("activeDeadlineSeconds"), spec.get("ttlSecondsAfterFinished")
    limit = min(filter(None, (own, status.get("activeDeadlineSeconds"))), default=None)
    return Ends(
        "" if is_over else _add(start, limit),
        _add(status.get("completionTime"), ttl),
        is_limited=limit is not None and not is_over,
        is_endless=bool(start) and limit is None and not is_over and not spec.get("successPolicy"),
        can_run_longer=own is not None and not is_over,
        can_be_kept=ttl is not None,
    )


def _add(start: str | None, seconds: int | None) -> str:
    begin = times.parse_time(start)
    if begin is None or seconds is None:
        return ""
    return write(begin + datetime.timedelta(seconds=seconds))
