"""When a job ends and when it is deleted, and what puts that off. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from nestor.cli.view import times
from nestor.objects import Object, spec_of, status_of
from nestor.ui.models.launch import LONGEST


@dataclass(frozen=True)
class Ends:
    """When the job is stopped, and when it is deleted; empty if never, or not yet known."""

    stops: str
    deleted: str
    can_run_longer: bool
    can_be_kept: bool


def find_ends(job: Object) -> Ends:
    """By its limits, which count from its start and from its end."""
    spec, status = spec_of(job), status_of(job)
    is_over = bool(status.get("completionTime"))
    limit, ttl = spec.get("activeDeadlineSeconds"), spec.get("ttlSecondsAfterFinished")
    return Ends(
        "" if is_over else _add(status.get("startTime"), limit),
        _add(status.get("completionTime"), ttl),
        can_run_longer=limit is not None and not is_over,
        can_be_kept=ttl is not None,
    )


def _add(start: str | None, seconds: int | None) -> str:
    begin = times.parse_time(start)
    if begin is None or seconds is None:
        return ""
    return (begin + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def build_extension(job: Object, field: str, seconds: int) -> Object | None:
    """The patch that gives it so much longer; None if there is nothing to extend. It fails if somebody was faster."""
    names = {"stop": "activeDeadlineSeconds", "keep": "ttlSecondsAfterFinished"}
    now = spec_of(job).get(names[field]) if field in names else None
    if now is None:
        return None
    version = {"resourceVersion": job["metadata"]["resourceVersion"]}
    return {"metadata": version, "spec": {names[field]: min(LONGEST, int(now) + seconds)}}
