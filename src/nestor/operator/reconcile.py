"""`reconcile(job)`: from spec and observed children to what should be, every time from the start."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.cluster.applier import LAG_SECONDS, RESYNC_SECONDS
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.events import now as timestamp
from nestor.operator.apps import Apps
from nestor.operator.children import Children, Made, build_shape
from nestor.operator.context import Context, age_seconds, ensure_finalizer
from nestor.operator.decide import Observed, decide, summarize
from nestor.operator.expose import Exposer, is_waiting
from nestor.operator.finalize import Finalizer
from nestor.operator.resolve import Refused, Resolved
from nestor.operator.runner_keeper import RunnerKeeper
from nestor.operator.status import build_status, list_events
from nestor.operator.sweep import SLOW_SECONDS, Sweeper
from nestor.steps import Plan

Object = dict[str, Any]

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
        if job["metadata"].get("deletionTimestamp"):
            await self._finalizer.finalize(job)
            return
        try:
            job = await ensure_finalizer(self._context.api, kinds.NESTED_APP_JOB, job)
            self._context.world.jobs.put(job)
            resolved = await self._apps.resolve(job)
            await self._reconcile_admitted(job, resolved)
        except Refused as refused:
            await self._report_refusal(job, refused)
            raise RetryLater(refused.retry_seconds or RESYNC_SECONDS, refused.message) from None
        except NotFound:
            if await self._context.api.find(kinds.NESTED_APP_JOB, name, namespace) is not None:
                raise

    async def _reconcile_admitted(self, job: Object, resolved: Resolved) -> None:
        """Plan → children → runner → observe → decide → report."""
        shape = build_shape(self._context, resolved)
        epoch = await self._track_data(shape)
        plan = resolved.build_plan(await self._context.sources.read_templates(resolved), epoch)
        made, problem, cause = await self._ensure_children(resolved, shape, plan)
        observed = self._observe(job, resolved, shape, plan, made)
        delay: float = RESYNC_SECONDS
        if made is not None:
            runner_problem, delay = await self._runners.ensure(resolved, shape, plan, made.addresses.dns, observed)
            observed = replace(observed, runner_problem=runner_problem)
        observed = replace(observed, problem=problem)
        kubeconfig = f"{resolved.name}-kubeconfig" if made and not made.note else None
        status = build_status(
            job, decide(observed), timestamp(), resolved=resolved, observed=observed, plan=plan, kubeconfig=kubeconfig,
        )
        await self._report(job, status)
        if cause:
            raise cause
        if made and is_waiting(made.routes):
            delay = min(delay, REFUSAL_SECONDS)
        if self._context.applier.is_settling(shape.namespace):
            delay = min(delay, LAG_SECONDS)
        raise RetryLater(min(delay, self._start_deadline(job, resolved) or RESYNC_SECONDS), "resync")

    async def _ensure_children(
        self, resolved: Resolved, shape: Shape, plan: Plan,
    ) -> tuple[Made | None, str | None, Exception | None]:
        """What was made; or what the host refused, for the user, and the error, for the retry."""
        try:
            return await self._children.ensure(resolved, shape, plan), None, None
        except (ForeignObject, Forbidden, Invalid) as error:
            if isinstance(error, Forbidden) and error.is_terminating:
                raise RetryLater(1, error.message) from None
            return None, getattr(error, "message", str(error)), error

    async def _track_data(self, shape: Shape) -> int:
        """How often the cluster lost its data: it lives in the server's pod, and goes with it."""
        cluster = self._context.world.clusters.get(shape.name, shape.namespace)
        pod = self._context.world.find(kinds.POD, f"{shape.child('k3s')}-0", shape.namespace)
        annotations = (cluster or {"metadata": {}})["metadata"].get("annotations") or {}
        epoch, known = int(annotations.get(labels.DATA_EPOCH, "0")), annotations.get(labels.SERVER_UID)
        if cluster is None or pod is None or pod["metadata"]["uid"] == known:
            return epoch
        epoch += 1 if known else 0
        patch = {"metadata": {"annotations": {labels.SERVER_UID: pod["metadata"]["uid"], labels.DATA_EPOCH: str(epoch)}}}
        self._context.world.clusters.put(
            await self._context.api.patch(kinds.NESTED_CLUSTER, shape.name, shape.namespace, patch),
        )
        return epoch

    def _observe(self, job: Object, resolved: Resolved, shape: Shape, plan: Plan, made: Made | None) -> Observed:
        """The children, from the caches."""
        world = self._context.world
        routes = made.routes if made else self._exposer.admit(resolved, None)
        return Observed(
            cluster=world.clusters.get(shape.name, shape.namespace),
            server=world.find(kinds.POD, f"{shape.child('k3s')}-0", shape.namespace),
            runner=world.find(kinds.POD, shape.child("run"), shape.namespace),
            plan_hash=plan.hash, note=made.note if made else None, warnings=resolved.warnings,
            exposure=self._exposer.observe(shape, routes),
            is_overdue=self._start_deadline(job, resolved) <= 0,
        )

    def _start_deadline(self, job: Object, resolved: Resolved) -> float:
        """Seconds until the cluster counts as overdue; far away once it was ready."""
        timings = (job.get("status") or {}).get("timings") or {}
        if timings.get("clusterReady"):
            return RESYNC_SECONDS
        since = timings.get("admitted") or job["metadata"]["creationTimestamp"]
        return max(0.0, resolved.policy.cluster.start_timeout_seconds - age_seconds(since))

    async def _report_refusal(self, job: Object, refused: Refused) -> None:
        admitted = Condition(conditions.ADMITTED, refused.status, refused.reason, refused.message)
        await self._report(job, build_status(job, [admitted, summarize([admitted])], timestamp()))

    async def _report(self, job: Object, status: Object) -> None:
        """Write the status if it changed, then tell of what changed."""
        old = job.get("status") or {}
        if status == old:
            return
        meta = job["metadata"]
        body = {"metadata": {key: meta[key] for key in ("name", "namespace", "uid")}, "status": status}
        written = await self._context.api.apply(kinds.NESTED_APP_JOB, body, subresource="status")
        self._context.world.jobs.put(written)
        for event in list_events(old, status):
            await self._context.events.post(
                {**job, "apiVersion": kinds.NESTED_APP_JOB.api_version, "kind": kinds.NESTED_APP_JOB.name},
                event.kind, event.reason, event.message,
            )
