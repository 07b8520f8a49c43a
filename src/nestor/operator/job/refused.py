"""What becomes of a job that has ended, or that can no longer be admitted: it may rest and be deleted all the same."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from nestor import names
from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.kube import RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.objects import Object
from nestor.operator.admission.identity import Refused
from nestor.operator.job.runner_keeper import RunnerKeeper
from nestor.operator.lifecycle.lifecycle import Life, decide_life
from nestor.operator.lifecycle.resting import end_pods, stop_as_it_is
from nestor.operator.status.build import Event, build_status
from nestor.operator.status.conditions import summarize
from nestor.operator.status.observe import gather_facts
from nestor.operator.status.report import Reporter
from nestor.operator.world.context import Context
from nestor.times import now, timestamp

log = logging.getLogger(__name__)


class Endings:
    """Ends jobs by their time, and has refused ones rest."""

    def __init__(self, context: Context, reporter: Reporter) -> None:
        self._context = context
        self._reporter = reporter
        self._runners = RunnerKeeper(context)

    async def expire(self, job: Object, life: Life) -> None:
        """Delete a job whose `ttlSecondsAfterFinished` are over, unless it was changed since it was looked at."""
        meta = job["metadata"]
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        message = f"ended at {life.record.completion_time}, deleted after its `ttlSecondsAfterFinished` of {ttl} s"
        await self._reporter.post(job, Event("Normal", "Expired", message))
        log.info("%s/%s: %s", meta["namespace"], meta["name"], message)
        is_deleted = await self._context.api.delete(
            kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], uid=meta["uid"], version=meta["resourceVersion"]
        )
        raise RetryLater(RESYNC_SECONDS if is_deleted else 1, "its time is over")

    async def reconcile_refused(self, job: Object, refused: Refused) -> float:
        """Say why a job is refused. What it has goes on, and still ends, rests and goes; returns when to look again."""
        found = [Condition(conditions.ADMITTED, refused.status, refused.reason, refused.message)]
        life = self._decide(job)
        if life is None:
            await self._reporter.report(job, build_status(job, [*found, summarize(found)], timestamp()))
            return float(RESYNC_SECONDS)
        if life.is_expired:
            await self.expire(job, life)
        if life.is_stopped:
            await self._stop(job, life)
        found += [life.succeeded, summarize(found, life)]
        await self._reporter.report(job, build_status(job, found, timestamp(), life.record.to_status()))
        return min(RESYNC_SECONDS, life.delay)

    def _decide(self, job: Object) -> Life | None:
        """The life of a job that was admitted before."""
        try:
            spec = NestedAppJobSpec.model_validate(job["spec"])
        except ValidationError:
            return None
        facts = gather_facts(self._context.world, job, spec, now())
        return decide_life(facts, now()) if facts.record.succeeded else None

    async def _stop(self, job: Object, life: Life) -> None:
        meta = job["metadata"]
        where = names.job_namespace(meta["name"], meta["namespace"], meta["uid"])
        await stop_as_it_is(self._context, meta["name"], where, replicas=life.replicas)
        await self._runners.remove(self._context.world.find(kinds.POD, names.child(meta["name"], "run"), where))
        if life.rest and life.rest.is_forced:
            await end_pods(self._context, where)
