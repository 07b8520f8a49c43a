"""Jobs that are not or no longer admitted, or that have expired: they can still end, be suspended and be deleted."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.times import now, timestamp
from nestor.cluster.exposure.exposed import describe_lost
from nestor.kube import kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.admission.identity import Denial
from nestor.operator.clusters.homes import keep_home_keys
from nestor.operator.guest import Guest
from nestor.operator.job.expose import withdraw_lost
from nestor.operator.job.hosts import Hosts
from nestor.operator.lifecycle.lifecycle import Lifecycle, decide_lifecycle, find_deadline
from nestor.operator.lifecycle.suspend import is_quiet, stop
from nestor.operator.status.build import build_status
from nestor.operator.status.conditions import find_rest, summarize
from nestor.operator.status.observe import gather_facts
from nestor.operator.status.report import report
from nestor.operator.world.context import Context, Result
from nestor.operator.world.ownership import find_home

log = logging.getLogger(__name__)


async def expire(context: Context, job: Object, life: Lifecycle) -> Result:
    """Delete a job that has been there for long enough after its end, unless it has changed since it was read."""
    meta = job["metadata"]
    message = f"ended at {life.record.completion_time}, deleted after {life.expired}"
    await context.post(kinds.NESTED_APP_JOB, job, "Normal", "Expired", message)
    log.info("%s/%s: %s", meta["namespace"], meta["name"], message)
    is_deleted = await context.api.delete(
        kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], uid=meta["uid"], version=meta["resourceVersion"]
    )
    return Result(RESYNC_SECONDS if is_deleted else 1)


async def reconcile_refused(context: Context, guests: Sequence[Guest], hosts: Hosts, job: Object, denial: Denial) -> Result:
    """Report why a job is denied. What it has already created keeps running, and can still end, be suspended and be deleted.

    Only a host that another job is now given is taken away.
    """
    found = [Condition(conditions.ADMITTED, denial.status, denial.reason, denial.message)]
    details: Object = {"queue": denial.queue} | ({"assigned": None} if denial.is_held else {})
    if denial.is_held and is_quiet(context.cache, job):  # until then, it counts for what it started with
        details["reserved"] = None
    result = Result(RESYNC_SECONDS).within(denial.retry_seconds)
    try:
        if lost := await withdraw_lost(context, hosts, job):
            found.append(Condition(conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT, "; ".join(lost.values())))
            details |= describe_lost(status_of(job), lost)
    except Exception as error:  # first, the job is held to its limits
        result = replace(result, error=error)
    spec = _read_spec(job, is_held=denial.is_held)
    facts = gather_facts(context.cache, job, find_home(job), spec, now(), policy=context.classes.of(job))
    life = decide_lifecycle(facts, now()) if facts.record.succeeded or facts.made_at else None  # None: it never ran
    await keep_home_keys(context, find_home(job))
    if life is None:
        await report(context, guests, job, build_status(job, [*found, *summarize(found)], timestamp(), details))
        return result
    if life.expired:
        return await expire(context, job, life)
    if denial.is_held and life.succeeded.reason == conditions.SUSPENDED:
        life = replace(life, succeeded=Condition(conditions.SUCCEEDED, "Unknown", conditions.QUEUED, denial.message))
    if life.is_stopped:
        await stop(context, find_home(job), life.suspend, is_applied=False, is_overdue=life.is_overdue)
    if facts.made_at and (stopped := find_rest(life)):
        found.append(stopped)
    found += [life.succeeded, *summarize(found, life)]
    details["activeDeadlineSeconds"] = find_deadline(spec.active_deadline_seconds, facts.most, life.record.ran)
    await report(context, guests, job, build_status(job, found, timestamp(), details | life.record.to_status()))
    return result.within(life.delay)


def _read_spec(job: Object, *, is_held: bool) -> NestedAppJobSpec:
    """The spec by which a refused job ends. Of one that cannot be read, each limit that can be, or the deadline that its status
    has. One that is held may not run, as if it were suspended.
    """
    said, status = spec_of(job), status_of(job)
    try:
        spec = NestedAppJobSpec.model_validate(said)
    except ValidationError:
        deadline, ttl = said.get("activeDeadlineSeconds"), said.get("ttlSecondsAfterFinished")
        spec = NestedAppJobSpec.model_construct(
            suspend=said.get("suspend") is True,
            active_deadline_seconds=deadline if isinstance(deadline, int) else status.get("activeDeadlineSeconds"),
            ttl_seconds_after_finished=ttl if isinstance(ttl, int) else None,
        )
    return spec.model_copy(update={"suspend": spec.suspend or is_held})
