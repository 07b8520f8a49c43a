"""Decides a job's lifecycle from what the user wants, what is recorded and what is observed. Pure.

What cannot be undone (a restart, a deletion) is recorded in the status first and done in a later pass. So an operator can stop
at any moment without leaving a decision half done or counting anything twice.
"""

import datetime
import math
from dataclasses import dataclass, field, replace
from typing import Literal

from nestor.api import conditions, times
from nestor.api.conditions import Condition
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.policies import FailurePolicy
from nestor.operator.lifecycle.record import KEPT, Record, Restart, seconds_since, stop_clock
from nestor.operator.lifecycle.suspend import SuspendProgress, SuspendState, decide_suspend
from nestor.operator.oneshot import find_pause

CAUSE_LIMIT = 1000
"""Maximum length of a restart's recorded cause: a step may print many lines."""
Phase = Literal["Running", "Suspending", "Suspended", "Resuming", "Restarting", "Finished"]

FIRST_BACKOFF_SECONDS = 10
MOST_BACKOFF_SECONDS = 300
ENDING_SECONDS = 600
"""How long the pods of a stopped job may take to end, beyond what its class lets it run, whatever their grace period is."""


@dataclass(frozen=True)
class Facts:
    spec: NestedAppJobSpec
    record: Record = field(default_factory=Record)
    policy: NestedClassSpec | None = None
    """Its class; None: it is gone, or cannot be read."""
    rerun: str = ""
    """The value of the rerun annotation."""
    epoch: int = 0
    """How often its cluster has lost its data."""
    has_data: bool = False
    """There is or was a server, so there may be data."""
    made_at: str | None = None
    """When its NestedCluster was made; None: there is none."""
    is_asleep: bool = False
    """It is suspended until somebody asks for it."""
    is_kueued: bool = False
    """Kueue starts it, and counts its server as free while it is suspended."""
    is_refused: bool = False
    """It is currently not admitted: it may still end and be suspended, but not start."""
    run: Object | None = None
    """Progress of its plan's steps."""
    outcome: Object | None = None
    """The application's outcome, as reported by the current server's syncer."""
    progress: SuspendProgress = field(default_factory=SuspendProgress)

    @property
    def most(self) -> int | None:
        """For how many seconds its class lets it run in all; None: for ever."""
        return self.policy.max_active_deadline_seconds if self.policy else None


@dataclass(frozen=True)
class Lifecycle:
    phase: Phase
    succeeded: Condition
    record: Record
    """What to record in the status."""
    is_stopped: bool = False
    """Whether the application must not run."""
    suspend: SuspendState | None = None
    """How far the suspension is."""
    is_reset_due: bool = False
    """Whether to delete the cluster's data now."""
    is_overdue: bool = False
    """Whether its pods have had more than enough time to end."""
    expired: str = ""
    """After what the job is to be deleted now; empty: it is not."""
    delay: float = math.inf
    """Seconds until this may change by itself."""

    @property
    def replicas(self) -> int:
        return self.suspend.replicas if self.suspend else 1


def decide_lifecycle(facts: Facts, now: datetime.datetime) -> Lifecycle:
    record = _begin(facts, now)
    if record.ended_by is not None:
        # A failed step no longer counts when the plan has changed: other templates, or another cluster.
        if record.ended_by not in KEPT or facts.is_refused or _says(facts.run, "Failed"):
            return _stay_ended(facts, record, now)
        record = replace(stop_clock(record, now), completion_time=None)
    if facts.spec.suspend or facts.is_asleep:
        return _suspend(facts, replace(stop_clock(record, now), suspend_time=record.suspend_time or times.write(now)), now)
    if facts.is_refused and record.start_time is None:
        said = record.succeeded or _tell("Unknown", conditions.RUNNING, "it has not started yet")
        is_suspended = record.suspend_time is not None
        return Lifecycle("Suspended" if is_suspended else "Running", said, record, is_stopped=is_suspended)
    if record.suspend_time and facts.progress.ending:
        record = stop_clock(replace(record, start_time=record.suspend_time, suspend_time=None), now)  # its pods ran all the time
    record = replace(record, start_time=record.start_time or times.write(now), suspend_time=None)
    life = _go_on(facts, record, now)
    return life if life.phase == "Finished" else _hold_to_deadlines(facts, record, life, now)


def _hold_to_deadlines(facts: Facts, record: Record, life: Lifecycle, now: datetime.datetime) -> Lifecycle:
    """The end of a job that has run for too long. Its own deadline counts from its start, as in batch/v1; its class's, in all."""
    own, most, age = facts.spec.active_deadline_seconds, facts.most, seconds_since(record.start_time, now)
    message = ""
    if own is not None and age >= own:
        message = f"it ran longer than its `activeDeadlineSeconds` of {own} s and was stopped"
    elif most is not None and record.ran + age >= most:
        message = (
            "it ran longer than its class allows, the time before it was suspended or run again included "
            f"(`maxActiveDeadlineSeconds` of {most} s), and was stopped"
        )
    if message:
        return _end(facts, record, now, _tell("False", conditions.DEADLINE_EXCEEDED, message))
    return replace(life, delay=min(life.delay, (own or math.inf) - age, (most or math.inf) - record.ran - age))


def _hold_to_end(facts: Facts, life: Lifecycle, now: datetime.datetime) -> Lifecycle:
    """Of a stopped job, the application runs on while its pods take their grace period. Its class's limit is for that, too."""
    record, most = life.record, facts.most
    if most is None or life.suspend is None or life.suspend.is_reached:
        return life
    stopped = record.suspend_time or record.completion_time
    ran = record.ran + (seconds_since(record.start_time, times.read(stopped)) if stopped else 0)
    left = max(0.0, most - ran) + ENDING_SECONDS - seconds_since(stopped, now)
    return replace(life, is_overdue=left <= 0, delay=min(life.delay, left) if left > 0 else life.delay)


def find_deadline(own: int | None, most: int | None, ran: int) -> int | None:
    """For how many seconds a job may run, counted from its start. `own`: its own limit, `most`: its class's, `ran`: before."""
    return min((limit for limit in (own, most and max(1, most - ran)) if limit is not None), default=None)


def _begin(facts: Facts, now: datetime.datetime) -> Record:
    """The record, or a new one if the job is seen for the first time or a rerun was requested."""
    record = facts.record
    if record.restart is not None and (record.restart.epoch <= facts.epoch or not facts.has_data):
        # Done, or the cluster was deleted meanwhile: its successor is empty anyway.
        record = replace(record, restart=None)
    if record.succeeded is None:
        # With a cluster nevertheless, the job leaves its status no room, as by its labels; or an operator died. Its time counts.
        return replace(record, rerun=facts.rerun, start_time=record.start_time or facts.made_at)
    if record.rerun == facts.rerun or facts.is_refused:
        return record
    if record.ended_by in (None, *KEPT):
        # It has its place all the time, so the class's deadline goes on.
        record = stop_clock(record, now)
    else:
        # What ended the job would end it again at once: its Jobs are complete or have failed.
        restart = Restart(facts.epoch + 1, times.write(now), "a rerun was requested") if facts.has_data else record.restart
        record = replace(record, ran=0, restart=restart)
    return replace(record, rerun=facts.rerun, restarts=0, start_time=None, completion_time=None)


def _go_on(facts: Facts, record: Record, now: datetime.datetime) -> Lifecycle:
    if record.restart is not None:
        return _restart(facts, record, record.restart, now)
    is_applied = _says(facts.run, "Succeeded") or not facts.spec.has_app
    if facts.spec.success_policy and _says(facts.outcome, "Succeeded") and is_applied:
        message = (facts.outcome or {}).get("message") or "everything that `successPolicy` names is done"
        return _end(facts, record, now, _tell("True", conditions.COMPLETED, message))
    if (failure := _find_failure(facts)) and not facts.is_refused:
        return _fail(facts, record, now, failure)
    return _run(facts, record, _tell("Unknown", conditions.RUNNING, _describe_running(facts)))


def _run(facts: Facts, record: Record, said: Condition) -> Lifecycle:
    is_resuming = facts.made_at is not None and (facts.progress.is_told or facts.progress.is_down)
    return Lifecycle("Resuming" if is_resuming else "Running", said, record)


def _fail(facts: Facts, record: Record, now: datetime.datetime, failure: Condition) -> Lifecycle:
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
    """A restart in progress. The application is stopped meanwhile: nothing may continue or start in the old cluster."""
    # 10, 20, 40 … 300 s after a failure; a rerun begins at once.
    pause = find_pause(record.restarts, FIRST_BACKOFF_SECONDS, MOST_BACKOFF_SECONDS) if record.restarts else 0.0
    left = pause - seconds_since(restart.time, now)
    most = (facts.spec.failure_policy or FailurePolicy()).max_restarts
    which = f"restart {record.restarts} of {most} in an empty cluster" if record.restarts else "starting over in an empty cluster"
    said = _tell("Unknown", conditions.RESTARTING, f"{which}: {restart.message}")
    is_due = left <= 0 and facts.record.restart == record.restart and not facts.is_refused
    # A server that is stopped starts only once the volumes of its former data are gone.
    rests = SuspendState("its control plane is stopped", replicas=0) if facts.progress.is_stopping and not is_due else None
    delay = left if left > 0 else math.inf
    return Lifecycle("Restarting", said, record, is_stopped=True, suspend=rests, is_reset_due=is_due, delay=delay)


def _suspend(facts: Facts, record: Record, now: datetime.datetime) -> Lifecycle:
    if not facts.made_at:
        message = "suspended before it started: nothing is created until `suspend` is false"
        suspend = SuspendState(message, is_reached=True, replicas=0)
    else:
        limit = facts.policy.cluster.stop_suspended_after_seconds if facts.policy else None
        if limit is None and facts.is_kueued:
            limit = 0
        keep = 0 if record.restart else math.inf if limit is None else limit
        suspend = decide_suspend(facts.progress, seconds_since(record.suspend_time, now), keep)
        word = "suspended" if facts.spec.suspend else "asleep until a request to one of its URLs arrives"
        suspend = replace(suspend, message=f"{word}: {suspend.message}")
    said = _tell("Unknown", conditions.SUSPENDED, suspend.message)
    phase: Phase = "Suspended" if suspend.is_reached else "Suspending"
    return _hold_to_end(facts, Lifecycle(phase, said, record, is_stopped=True, suspend=suspend, delay=suspend.delay), now)


def _end(facts: Facts, record: Record, now: datetime.datetime, said: Condition) -> Lifecycle:
    ended = replace(record, completion_time=times.write(now), succeeded=said, restart=None)
    return _stay_ended(facts, ended, now)


def _stay_ended(facts: Facts, record: Record, now: datetime.datetime) -> Lifecycle:
    """Ended, whatever is observed. The application is stopped, unless it is kept for inspection."""
    said = record.succeeded or _tell("False", conditions.STEP_FAILED, "")
    suspend, since = None, record.completion_time
    if record.ended_by in KEPT:
        since = (record.suspend_time or times.write(now)) if facts.spec.suspend else None
        record = replace(record, suspend_time=since)
    left = math.inf
    if since is not None:
        ended = None if record.ended_by in KEPT else facts.policy
        keep = ended.cluster.stop_ended_after_seconds if ended else math.inf
        suspend = decide_suspend(facts.progress, seconds_since(since, now), keep)
    elif facts.most is not None and (left := facts.most - record.ran - seconds_since(record.start_time, now)) <= 0:
        message = (
            f"{said.message}; it was kept for as long as its class lets it run (`maxActiveDeadlineSeconds` of {facts.most} s)"
        )
        return _end(facts, record, now, _tell("False", conditions.DEADLINE_EXCEEDED, f"{message}, and was stopped"))
    delay = suspend.delay if suspend else left
    life = Lifecycle("Finished", said, record, is_stopped=since is not None, suspend=suspend, delay=delay)
    life = _hold_to_end(facts, life, now)
    own = facts.spec.ttl_seconds_after_finished
    most = facts.policy.max_ttl_seconds_after_finished if facts.policy else None
    ttl = min((limit for limit in (own, most) if limit is not None), default=None)
    if ttl is None:
        return life
    left = ttl - seconds_since(record.completion_time, now)
    field = "its `ttlSecondsAfterFinished`" if ttl == own else "its class's `maxTtlSecondsAfterFinished`"
    expired = f"{field} of {ttl} s" if facts.record.completion_time and left <= 0 else ""
    return replace(life, expired=expired, delay=min(life.delay, max(0.0, left)))


def _find_failure(facts: Facts) -> Condition | None:
    """The failure of the application, if any, as the condition that would end the job."""
    if _says(facts.run, "Failed"):
        steps = (facts.run or {}).get("steps") or []
        failed = next((item for item in steps if item.get("state") == "Failed"), {"name": "?"})
        said = f": {failed['message']}" if failed.get("message") else ""
        return _tell("False", conditions.STEP_FAILED, f"step '{failed['name']}' failed{said}")
    has_targets = facts.spec.success_policy or (facts.spec.failure_policy and facts.spec.failure_policy.targets)
    if has_targets and _says(facts.outcome, "Failed"):
        message = (facts.outcome or {}).get("message") or "an object that the policies name has failed"
        return _tell("False", conditions.TARGET_FAILED, message)
    return None


def _describe_running(facts: Facts) -> str:
    if facts.spec.success_policy is None:
        return "it runs until it is deleted: it has no `successPolicy`"
    said = (facts.outcome or {}).get("message")
    return f"not done yet: {said}" if said else "the objects that `successPolicy` names are not done yet"


def _says(found: Object | None, state: str) -> bool:
    return found is not None and found.get("state") == state


def _tell(status: conditions.Status, reason: str, message: str) -> Condition:
    return Condition(conditions.SUCCEEDED, status, reason, message)
