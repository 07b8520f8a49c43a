"""`reconcile(job)`: from spec and observed children to what should be, every time from the start."""

from __future__ import annotations

import logging
from dataclasses import replace

from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.applier import LAG_SECONDS, RESYNC_SECONDS
from nestor.objects import Object, is_terminating
from nestor.operator.admission.admit import Refused, Resolved
from nestor.operator.admission.resolver import Apps
from nestor.operator.deletion.finalize import Finalizer
from nestor.operator.deletion.sweep import SLOW_SECONDS, Sweeper
from nestor.operator.job.children import Children, Made, build_shape
from nestor.operator.job.expose import Exposer, is_waiting
from nestor.operator.job.refused import Endings
from nestor.operator.job.runner_keeper import RunnerKeeper
from nestor.operator.lifecycle.data_epoch import DataKeeper
from nestor.operator.lifecycle.lifecycle import Life, decide_life
from nestor.operator.lifecycle.record import find_rerun
from nestor.operator.lifecycle.resting import end_pods, stop_as_it_is
from nestor.operator.status.build import build_status, describe
from nestor.operator.status.conditions import Observed, decide
from nestor.operator.status.observe import find_start_deadline, gather_facts, observe
from nestor.operator.status.report import Reporter
from nestor.operator.world.context import Context, ensure_finalizer
from nestor.steps import Plan
from nestor.times import now, timestamp

log = logging.getLogger(__name__)

REFUSAL_SECONDS = 10
"""How soon it is tried again to expose a job whose host is taken or whose TLS secret is missing; not all of it makes events."""


class JobReconciler:
    """Reconciles NestedAppJobs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._children = Children(context)
        self._apps = Apps(context, self._children.ensure_namespace)
        self._runners = RunnerKeeper(context)
        self._data = DataKeeper(context)
        self._reporter = Reporter(context)
        self._endings = Endings(context, self._reporter)
        self._exposer = Exposer(context)
        self._finalizer = Finalizer(context)
        self._sweeper = Sweeper(context, self._finalizer)

    async def reconcile(self, namespace: str, name: str) -> None:
        """One pass over one job. Raises `RetryLater` with when to look again though nothing happens."""
        sweeping = await self._sweep(namespace, name)
        job = self._context.world.jobs.get(name, namespace)
        try:
            if job is not None:
                await self._reconcile_known(job)
        except RetryLater as later:
            raise RetryLater(min(later.delay, sweeping or later.delay), str(later)) from None
        if sweeping:
            raise RetryLater(sweeping, "sweeping")

    async def _sweep(self, namespace: str, name: str) -> float | None:
        """What an earlier job of that name left; it must not be in the way of the one that is there."""
        try:
            return await self._sweeper.sweep(namespace, name)
        except ApiError as error:
            if self._context.world.jobs.get(name, namespace) is None:
                raise
            log.warning("%s/%s: what an earlier job left cannot be deleted: %s", namespace, name, error)
            return SLOW_SECONDS

    async def _reconcile_known(self, job: Object) -> None:
        name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        if is_terminating(job):
            await self._finalizer.finalize(job)
            return
        try:
            job = await ensure_finalizer(self._context.api, kinds.NESTED_APP_JOB, job)
            if not self._context.world.jobs.put(job):
                return  # deleted in the moment of our finalizer, which the API server then does not mind
            await self._reconcile_admitted(job, await self._apps.resolve(job))
        except Refused as refused:
            delay = await self._endings.reconcile_refused(job, refused)
            raise RetryLater(min(delay, refused.retry_seconds or RESYNC_SECONDS), refused.message) from None
        except NotFound:
            if await self._context.api.find(kinds.NESTED_APP_JOB, name, namespace) is not None:
                raise

    async def _reconcile_admitted(self, job: Object, resolved: Resolved) -> None:
        """Plan → life → children → runner → observe → decide → report."""
        shape = build_shape(self._context, resolved)
        data = await self._data.track(shape)
        source = await self._context.sources.read_templates(resolved)
        plan = resolved.build_plan(f"{source}@{find_rerun(job)}", data.epoch)
        facts = gather_facts(self._context.world, job, resolved.spec, now(), plan_hash=plan.hash)
        life = decide_life(facts, now())
        if life.is_expired:
            await self._endings.expire(job, life)
        if life.is_stopped and not facts.is_made:
            await self._report_dormant(job, resolved, shape, plan, life)
        if life.is_reset_due:
            await self._data.drop(shape, data)
        await self._keep(job, resolved, replace(shape, replicas=life.replicas), plan, life)

    async def _keep(self, job: Object, resolved: Resolved, shape: Shape, plan: Plan, life: Life) -> None:
        """Have everything as the job's life says, and say how it is."""
        made, problem, cause = await self._ensure_children(resolved, shape, plan, life)
        exposure = self._exposer.observe(shape, made.routes if made else self._exposer.admit(resolved, None))
        observed = observe(self._context.world, job, resolved, shape, plan.hash, exposure, life.record.start_time)
        delay, runner_problem = float(RESYNC_SECONDS), None
        if life.is_stopped:
            await self._stop(shape, observed, life, is_told=made is not None)
        elif made is not None:
            runner_problem, delay = await self._runners.ensure(resolved, shape, plan, made.addresses.dns, observed)
        observed = replace(observed, problem=problem, runner_problem=runner_problem, note=made.note if made else None)
        kubeconfig = f"{resolved.name}-kubeconfig" if made and not made.note else None
        details = describe(resolved, observed, plan, life, kubeconfig)
        await self._reporter.report(job, build_status(job, decide(observed, life), timestamp(), details))
        if cause:
            raise cause
        if made and is_waiting(made.routes):
            delay = min(delay, REFUSAL_SECONDS)
        if self._context.applier.is_settling(shape.namespace):
            delay = min(delay, LAG_SECONDS)
        deadline = find_start_deadline(job, resolved, life.record.start_time)
        raise RetryLater(min(delay, life.delay, deadline or RESYNC_SECONDS), "resync")

    async def _report_dormant(self, job: Object, resolved: Resolved, shape: Shape, plan: Plan, life: Life) -> None:
        """A job that was made suspended has nothing but a status; its sources are read again when it begins."""
        exposure = self._exposer.observe(shape, self._exposer.admit(resolved, None))
        observed = observe(self._context.world, job, resolved, shape, plan.hash, exposure, life.record.start_time)
        details = describe(resolved, observed, plan, life, None)
        await self._reporter.report(job, build_status(job, decide(observed, life), timestamp(), details))
        self._context.sources.forget_templates(resolved.uid)
        raise RetryLater(min(RESYNC_SECONDS, life.delay), "suspended")

    async def _ensure_children(
        self, resolved: Resolved, shape: Shape, plan: Plan, life: Life
    ) -> tuple[Made | None, str | None, Exception | None]:
        """What was made; or what the host refused, for the user, and the error, for the retry."""
        try:
            return await self._children.ensure(resolved, shape, plan, is_stopped=life.is_stopped), None, None
        except (ForeignObject, Forbidden, Invalid) as error:
            if isinstance(error, Forbidden) and error.is_terminating:
                raise RetryLater(1, error.message) from None
            return None, getattr(error, "message", str(error)), error

    async def _stop(self, shape: Shape, observed: Observed, life: Life, *, is_told: bool) -> None:
        """The syncer stops the application; the runner is ours, and what a dead syncer left.

        `is_told`: all objects are applied. Where the host refused one, the cluster may not know yet.
        """
        if not is_told:
            await stop_as_it_is(self._context, shape.name, shape.namespace, replicas=life.replicas)
        await self._runners.remove(observed.runner)
        if life.rest and life.rest.is_forced:
            await end_pods(self._context, shape.namespace)
