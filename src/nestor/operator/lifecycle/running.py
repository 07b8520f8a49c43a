"""Whether a job runs, has run, or would, by its own record alone: its status survives any operator. Pure."""

from __future__ import annotations

from nestor.api import conditions
from nestor.api.objects import Object, conditions_of, is_terminating, spec_of, status_of
from nestor.operator.lifecycle.lifecycle import KEPT
from nestor.operator.lifecycle.record import find_rerun
from nestor.operator.world.finalizers import has_finalizer


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


def wants_to_run(job: Object) -> bool:
    """Whether it would run."""
    if is_terminating(job) or spec_of(job).get("suspend"):
        return False
    return _ended_by(job) in (None, *KEPT) or find_rerun(job) != (status_of(job).get("rerun") or "")


def _ended_by(job: Object) -> str | None:
    said = conditions.find(conditions_of(job), conditions.SUCCEEDED)
    is_over = status_of(job).get("completionTime") and said is not None and said["status"] != "Unknown"
    return said["reason"] if said is not None and is_over else None
