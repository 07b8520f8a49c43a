"""What a job's life says: from what the user wants, what is recorded and what is observed, to what it is now. Pure.

What cannot be taken back, a restart or a deletion, is recorded first and done in a later pass, by what the status says. So an
operator that ends at any moment leaves nothing half-decided, and nothing is counted twice.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field, replace
from typing import Literal

from nestor import times
from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.policies import FailurePolicy
from nestor.objects import Object
from nestor.operator.lifecycle.record import Record, Restart, begin_anew, seconds_since
from nestor.operator.lifecycle.suspend import SuspendProgress, SuspendState, decide_suspend

CAUSE_LIMIT = 1000
"""Characters that are kept of why an application is started again: a step's last lines may be many."""
Phase = Literal["Running", "Suspending", "Suspended", "Resuming", "Restarting", "Finished"]

FIRST_BACKOFF_SECONDS = 10
MOST_BACKOFF_SECONDS = 300
KEPT = (conditions.STEP_FAILED,)
"""Ends after which the application is not stopped, but kept for looking at."""


@dataclass(frozen=True)
class Facts:
    """What is known of one job when its life is decided."""

    spec: NestedAppJobSpec
    record: Record = field(default_factory=Record)
    rerun: str = ""
    """The value of its annotation."""
    epoch: int = 0
    """How often its cluster has lost its data."""
    has_data: bool = False
    """There is, or was, a server in whose data something may be."""
    is_made: bool = False
    """Its NestedCluster exists."""
    is_refused: bool = False
    """It cannot be admitted as it is now: it may still end and be suspended, but not begin."""
    run: Object | None = None
    """How far the steps of its plan are."""
    outcome: Object | None = None
    """What the syncer of the server that is there says of the application."""
    progress: SuspendProgress = field(default_factory=SuspendProgress)


@dataclass(frozen=True)
class Lifecycle:
    """What the job's life says."""

    phase: Phase
    succeeded: Condition
    record: Record
    """What is to be recorded."""
    is_stopped: bool = False
    """Whether the application is to be stopped."""
    suspend: SuspendState | None = None
    """How far it is with that."""
    is_reset_due: bool = False
    """Whether the cluster's data is to be deleted now."""
    is_expired: bool = False
    """Whether the job is to be deleted now."""
    delay: float = math.inf
    """Seconds until this may change by itself."""

    @property
    def replicas(self) -> int:
        """Of the server's StatefulSet."""
        return self.suspend.replicas if self.suspend else 1


def decide_lifecycle(facts: Facts, now: datetime.datetime) -> Lifecycle:
    """One pass over one job's life."""
    record = _begin(facts, now)
    if record.ended_by is not None and not _is_revived(facts, record):
        return _stay_ended(facts, record, now)
    if record.ended_by is not None:
        record = replace(record, start_time=None, completion_time=None)
    if facts.spec.suspend:
        return _suspend(facts, replace(record, start_time=None, suspend_time=record.suspend_time or times.write(now)), now)
    if facts.is_refused and record.start_time is None:
        said = record.succeeded or _tell("Unknown", conditions.RUNNING, "it has not begun")
        is_suspended = record.suspend_time is not None
        return Lifecycle("Suspended" if is_suspended else "Running", said, record, is_stopped=is_suspended)
    record = replace(record, start_time=record.start_time or times.write(now), suspend_time=None)
    life = _go_on(facts, record, now)
    if life.phase != "Finished" and (limit := facts.spec.active_deadline_seconds) is not None:
        left = limit - seconds_since(record.start_time, now)
        if left <= 0:
            message = f"it ran longer than its `activeDeadlineSeconds` of {limit} s and was stopped"
            return _end(facts, record, now, _tell("False", conditions.DEADLINE_EXCEEDED, message))
        life = replace(life, delay=min(life.delay, left))
    return life


def _begin(facts: Facts, now: datetime.datetime) -> Record:
    """The record, or a new one for a job that is seen for the first time or that the user wants to run again."""
    record = facts.record
    if record.restart is not None and (record.restart.epoch <= facts.epoch or not facts.has_data):
        # Done, or somebody took the cluster away meanwhile: what comes is empty anyway.
        record = replace(record, restart=None)
    if record.succeeded is None:
        return replace(record, rerun=facts.rerun)
    if record.rerun == facts.rerun or facts.is_refused:
        return record
    restart = record.restart
    if record.ended_by not in (None, *KEPT) and facts.has_data:
        # What ended it would end it again at once: its Jobs are done, or have failed.
        restart = Restart(facts.epoch + 1, times.write(now), "the job is run again")
    return begin_anew(record, facts.rerun, restart)


def _is_revived(facts: Facts, record: Record) -> bool:
    """A failed step is no longer one when the plan is another: changed templates, or a cluster that is another."""
    return record.ended_by in KEPT and not facts.is_refused and not _has_failed(facts.run)


def _go_on(facts: Facts, record: Record, now: datetime.datetime) -> Lifecycle:
    """A job that is to run, deadline aside."""
    if record.restart is not None:
        return _restart(facts, record, record.restart, now)
    if facts.spec.success_policy and _says(facts.outcome, "Succeeded") and _says(facts.run, "Succeeded"):
        message = (facts.outcome or {}).get("message") or "what `successPolicy` names is done"
        return _end(facts, record, now, _tell("True", conditions.COMPLETED, message))
    if (failure := _find_failure(facts)) and not facts.is_refused:
        return _fail(facts, record, now, failure)
    return _run(facts, record, _tell("Unknown", conditions.RUNNING, _describe_running(facts)))


def _run(facts: Facts, record: Record, said: Condition) -> Lifecycle:
    is_resuming = facts.is_made and (facts.progress.is_told or facts.progress.is_down)
    return Lifecycle("Resuming" if is_resuming else "Running", said, record)


def _fail(facts: Facts, record: Record, now: datetime.datetime, failure: Condition) -> Lifecycle:
    """By the failure policy."""
    policy = facts.spec.failure_policy or FailurePolicy()
    if policy.action == "Ignore":
        message = f"`failurePolicy` ignores this: {failure.message}"
        return _run(facts, record, _tell("Unknown", conditions.FAILURE_IGNORED, message))
    if policy.action == "Fail":
        return _end(facts, record, now, failure)
    if record.restarts >= policy.max_restarts:
        message = f"restarted {record.restarts} of {policy.max_restarts} times, then: {failure.message}"
        return _end(facts, record, now, _tell("False", conditions.RESTARTS_EXHAUSTED, message))
    restart = Restart(facts.epoch + 1, times.write(now), failure.message[:CAUSE_LIMIT])
    return _restart(facts, replace(record, restarts=record.restarts + 1, restart=restart), restart, now)


def _restart(facts: Facts, record: Record, restart: Restart, now: datetime.datetime) -> Lifecycle:
    """Under way. The application is stopped meanwhile: nothing may go on, or begin, in the old cluster."""
    left = find_backoff(record.restarts) - seconds_since(restart.time, now)
    most = (facts.spec.failure_policy or FailurePolicy()).max_restarts
    which = f"restart {record.restarts} of {most} in an empty cluster" if record.restarts else "begins in an empty cluster"
    said = _tell("Unknown", conditions.RESTARTING, f"{which}: {restart.message}")
    is_recorded = facts.record.restart == record.restart and not facts.is_refused
    return Lifecycle(
        "Restarting", said, record, is_stopped=True, is_reset_due=is_recorded and left <= 0, delay=left if left > 0 else math.inf
    )


def find_backoff(restarts: int) -> float:
    """Seconds between a failure and the restart of this number: 10, 20, 40 … 300; none before a run that the user wants."""
    return float(min(MOST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(restarts - 1, 10))) if restarts else 0.0


def _suspend(facts: Facts, record: Record, now: datetime.datetime) -> Lifecycle:
    """Suspended by the user."""
    if not facts.is_made:
        message = "suspended before it began: nothing is made until `suspend` is false"
        suspend = SuspendState(message, is_reached=True, replicas=0)
    else:
        suspend = decide_suspend(facts.progress, seconds_since(record.suspend_time, now))
        suspend = replace(suspend, message=f"suspended: {suspend.message}")
    said = _tell("Unknown", conditions.SUSPENDED, suspend.message)
    phase: Phase = "Suspended" if suspend.is_reached else "Suspending"
    return Lifecycle(phase, said, record, is_stopped=True, suspend=suspend, delay=suspend.delay)


def _end(facts: Facts, record: Record, now: datetime.datetime, said: Condition) -> Lifecycle:
    ended = replace(record, completion_time=times.write(now), succeeded=said, restart=None)
    return _stay_ended(facts, ended, now)


def _stay_ended(facts: Facts, record: Record, now: datetime.datetime) -> Lifecycle:
    """Ended, whatever is observed. Its application is stopped, unless it is kept for looking at."""
    said = record.succeeded or _tell("False", conditions.STEP_FAILED, "")
    suspend, since = None, record.completion_time
    if record.ended_by in KEPT:
        since = (record.suspend_time or times.write(now)) if facts.spec.suspend else None
        record = replace(record, suspend_time=since)
    if since is not None:
        suspend = decide_suspend(facts.progress, seconds_since(since, now))
    delay = suspend.delay if suspend else math.inf
    life = Lifecycle("Finished", said, record, is_stopped=since is not None, suspend=suspend, delay=delay)
    if (ttl := facts.spec.ttl_seconds_after_finished) is None:
        return life
    left = ttl - seconds_since(record.completion_time, now)
    is_recorded = facts.record.completion_time is not None
    return replace(life, is_expired=is_recorded and left <= 0, delay=min(life.delay, max(0.0, left)))


def _find_failure(facts: Facts) -> Condition | None:
    """What counts as a failure of the application, by the words in which it would end the job."""
    if _has_failed(facts.run):
        steps = (facts.run or {}).get("steps") or []
        failed = next((item for item in steps if item.get("state") == "Failed"), {"name": "?"})
        said = f": {failed['message']}" if failed.get("message") else ""
        return _tell("False", conditions.STEP_FAILED, f"step '{failed['name']}' failed{said}")
    has_targets = facts.spec.success_policy or (facts.spec.failure_policy and facts.spec.failure_policy.targets)
    if has_targets and _says(facts.outcome, "Failed"):
        message = (facts.outcome or {}).get("message") or "what the policies name has failed"
        return _tell("False", conditions.TARGET_FAILED, message)
    return None


def _describe_running(facts: Facts) -> str:
    if facts.spec.success_policy is None:
        return "it runs until it is deleted: it has no `successPolicy`"
    said = (facts.outcome or {}).get("message")
    return f"not done yet: {said}" if said else "what `successPolicy` names is not done yet"


def _has_failed(run: Object | None) -> bool:
    return _says(run, "Failed")


def _says(found: Object | None, state: str) -> bool:
    return found is not None and found.get("state") == state


def _tell(status: conditions.Status, reason: str, message: str) -> Condition:
    return Condition(conditions.SUCCEEDED, status, reason, message)
