"""`reconcile(job)`: computes the desired state from spec and observed children, from scratch in every pass."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, replace

from nestor import names
from nestor.api import conditions
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.exposure.http_route import name_gateway
from nestor.kube import ApiError, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.applier import LAG_SECONDS, RESYNC_SECONDS
from nestor.kube.tasks import together
from nestor.names import Part
from nestor.objects import Object, conditions_of, is_terminating, status_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.resolver import AppResolver
from nestor.operator.admission.retained import check_retained, find_limit
from nestor.operator.admission.turn import Turn, assign_nodes
from nestor.operator.clusters.ensure import build_shape
from nestor.operator.clusters.homes import keep_home_keys
from nestor.operator.deletion.finalize import Finalizer
from nestor.operator.deletion.sweep import SLOW_SECONDS, Sweeper
from nestor.operator.enforcement.verdict import check_enforced, explain_open
from nestor.operator.job.children import Children, ChildrenKeeper
from nestor.operator.job.expose import admit_routes, is_waiting, observe_exposure
from nestor.operator.job.hosts import Hosts
from nestor.operator.job.http_routes import find_poll
from nestor.operator.job.policy import keep_policy
from nestor.operator.job.refused import expire, reconcile_refused
from nestor.operator.job.runner_pod import RESOURCES, ensure_runner
from nestor.operator.job.server_refusal import find_delay, find_refusal
from nestor.operator.kueue.keeper import Kueue
from nestor.operator.lifecycle.data_epoch import drop_data, track_data
from nestor.operator.lifecycle.lifecycle import Facts, Lifecycle, decide_lifecycle
from nestor.operator.lifecycle.record import find_rerun
from nestor.operator.lifecycle.retain import list_retained
from nestor.operator.lifecycle.suspend import is_quiet, stop
from nestor.operator.notices.outbox import Outbox
from nestor.operator.queueing.entry import WAITS, find_since, was_stopped
from nestor.operator.queueing.needs import cap_quota, find_reserved
from nestor.operator.queueing.queues import Queues
from nestor.operator.result import Result
from nestor.operator.status.build import build_status, describe
from nestor.operator.status.conditions import Observed, decide_conditions
from nestor.operator.status.held import explain_held
from nestor.operator.status.observe import find_start_deadline, gather_facts
from nestor.operator.status.report import report
from nestor.operator.world.context import Context
from nestor.operator.world.finalizers import ensure_finalizer, has_finalizer
from nestor.operator.world.homes import find_home, is_managed_elsewhere
from nestor.operator.world.kept import find_fault
from nestor.steps import Plan
from nestor.times import now, seconds_since, timestamp

log = logging.getLogger(__name__)

PATIENCE = 8
"""Passes in a row that an API server's errors may end, half a minute with the queue's pauses, before the job is told of it."""
REFUSAL_SECONDS = 10
"""How soon to retry exposing a job whose host is taken or whose TLS secret is missing; not every fix causes an event."""


@dataclass(frozen=True)
class _Admitted:
    """One admitted job, and the goal of this pass."""

    job: Object
    resolved: Resolved
    shape: Shape
    plan: Plan
    facts: Facts
    life: Lifecycle


class JobReconciler:
    """Reconciles NestedAppJobs."""

    def __init__(self, context: Context, queues: Queues | None = None) -> None:
        self._context = context
        self._queues = queues or Queues(context.cache.jobs, context.classes.all, is_quiet=self._is_quiet)
        self.kueue = Kueue(context, self._queues.wake, RESOURCES)
        self.hosts = Hosts(context.cache, context.classes)
        self.outbox = Outbox(context)
        self._inputs = CopiedInputs(context.applier, context.settings.namespace)
        self._children = ChildrenKeeper(context, self._inputs, self.hosts)
        self._apps = AppResolver(context, self._inputs, self._children.ensure_namespace, self._take_turn)
        self._finalizer = Finalizer(context, self._inputs)
        self._sweeper = Sweeper(context, self._finalizer)
        self._failures: Counter[tuple[str, str]] = Counter()
        """Passes in a row that failed, by the job's namespace and name."""

    async def reconcile(self, namespace: str, name: str) -> Result:
        """One pass over one job, and over what an earlier job of the same name left behind."""
        if (job := self._context.cache.jobs.get(name, namespace)) is not None:
            self._queues.note(job)  # its pods may have gone since, which frees its place
        self._queues.flush()
        swept = await self._sweep(namespace, name)
        job = self._context.cache.jobs.get(name, namespace)
        if job is None:
            self._failures.pop((namespace, name), None)
            return swept
        if _is_others(job):
            await self.kueue.dispatch(job)
            return swept
        try:
            result = await self._try(job)
            await self.kueue.follow(job)
        except RetryLater as later:
            result = Result(later.delay)
        return result.within(swept.retry_after)

    async def _try(self, job: Object) -> Result:
        """The pass. If it fails, the job is refused: it must not get around its limits by what we cannot handle.

        What an API server says may pass. So its errors are raised until they have lasted.
        """
        meta = job["metadata"]
        key = meta["namespace"], meta["name"]
        try:
            result = await self._reconcile_present(job)
        except RetryLater:
            raise
        except Exception as error:
            self._failures[key] += 1
            if is_terminating(job) or (isinstance(error, ApiError) and self._failures[key] < PATIENCE):
                raise
            # Not the words of an error of ours: they may have a Secret's.
            told = f"the API server said: {error.message}" if isinstance(error, ApiError) else type(error).__name__
            message = f"the operator failed at this job ({told}); the job's deadlines and `suspend` still apply"
            refused = Refused(conditions.INTERNAL_ERROR, message, queue=status_of(job).get("queue"))
            latest = self._context.cache.jobs.get(meta["name"], meta["namespace"]) or job
            return replace(await self._refuse(latest, refused), error=error)
        self._failures.pop(key, None)
        return result

    async def _take_turn(self, known: JobIdentity) -> Turn:
        """Raises `Refused` as long as the job has to wait: in its class, or for Kueue."""
        self._queues.take(known)
        return await self.kueue.take(known)

    def _is_quiet(self, job: Object) -> bool:
        return is_quiet(self._context.cache, job)

    async def _sweep(self, namespace: str, name: str) -> Result:
        """Delete what an earlier job of that name left behind; a failure must not block the current job."""
        try:
            return await self._sweeper.sweep(namespace, name)
        except Exception as error:
            if isinstance(error, RetryLater) or self._context.cache.jobs.get(name, namespace) is None:
                raise
            log.warning("%s/%s: cannot delete what an earlier job left behind: %s", namespace, name, error)
            return Result(SLOW_SECONDS)

    async def _reconcile_present(self, job: Object) -> Result:
        if is_terminating(job):
            self._children.openings.forget(find_home(job).namespace)
            self._children.registrar.forget(job["metadata"]["uid"])
            return await self._finalizer.finalize(job)
        try:
            await keep_policy(self._context, job)
            if find_fault(job) is None:  # nothing is made for a stub; the less often it is written, the better
                job = await ensure_finalizer(self._context.api, kinds.NESTED_APP_JOB, job)
            if not self._context.cache.jobs.put(job):
                return Result()  # deleted while we added the finalizer, which the API server does not report
            job = self._context.cache.jobs.trim(job)
            check_enforced(job, self._context.cache.classes, self._context.classes.all(), self._context.classes.default)
            resolved = await self._apps.resolve(job)
            recorded = None if was_stopped(job) and self._is_quiet(job) else status_of(job).get("reserved")
            reserved = find_reserved(resolved.policy, resolved.spec.machine, recorded, resolved.turn.granted)
            policy = assign_nodes(cap_quota(resolved.policy, reserved), resolved.turn.app)
            resolved = replace(resolved, policy=policy, reserved=reserved, is_shared=self.hosts.is_shared(job))
            return await self._reconcile_admitted(job, resolved)
        except Refused as refused:
            return await self._refuse(job, refused)
        except NotFound:
            meta = job["metadata"]
            if await self._context.api.find(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"]) is not None:
                raise
            return Result()
        finally:
            self._inputs.templates.release(job["metadata"]["uid"])

    async def _refuse(self, job: Object, refused: Refused) -> Result:
        self._inputs.templates.forget(job["metadata"]["uid"])
        self._leave_place(job, refused)
        await self._children.keep_walls(job)
        return await reconcile_refused(self._context, self.hosts, self.outbox, job, refused)

    def _leave_place(self, job: Object, refused: Refused) -> None:
        """Have a job that is refused by no queue give its place back. One whose AppDef is being read keeps it for a while."""
        uid = job["metadata"]["uid"]
        if refused.status == "False" and refused.reason not in (*WAITS, conditions.CLASS_NOT_FOUND):
            self._queues.give_back(uid)
        elif refused.is_stuck:
            self._queues.give_back(uid, is_reading=True)
        elif refused.status == "Unknown" and self._queues.has_place(uid):
            refused.queue = {"since": find_since(job, timestamp())}  # for the next operator

    async def _reconcile_admitted(self, job: Object, resolved: Resolved) -> Result:
        """Plan → lifecycle → children → runner → observe → decide → report."""
        context = self._context
        self.hosts.note(resolved.uid, resolved.routes)
        shape = build_shape(context, resolved.cluster, resolved.home, resolved.policy)
        shape = replace(shape, nodes=resolved.turn.server)
        data = await track_data(context, shape)
        source = await self._inputs.templates.read(resolved)
        plan = resolved.build_plan(f"{source}@{find_rerun(job)}", data.number)
        most = resolved.policy.max_active_deadline_seconds
        facts = gather_facts(context.cache, job, resolved.home, resolved.spec, now(), plan_hash=plan.hash, most=most)
        life = decide_lifecycle(facts, now())
        if life.is_expired:
            return await expire(context, job, life)
        admitted = _Admitted(job, resolved, replace(shape, replicas=life.replicas), plan, facts, life)
        if life.is_stopped and not facts.made_at:
            return await self._keep_unmade(admitted)
        if life.is_reset_due or (life.phase == "Running" and not facts.made_at):
            await self._check_retained(resolved)
        if life.is_reset_due:
            await drop_data(context, shape, data)
        return await self._keep(admitted)

    async def _check_retained(self, resolved: Resolved) -> None:
        """Raises `Refused` if what earlier jobs have left is too much for one that begins."""
        name = resolved.class_name
        if (policy := self._context.classes.all().get(name)) and (limit := find_limit(policy)) is not None:
            check_retained(resolved.namespace, name, limit, await list_retained(self._context.api, resolved.namespace))

    async def _keep_unmade(self, it: _Admitted) -> Result:
        """A job that was created suspended has only a status; its templates are read again when it starts."""
        await self._report(it, Children(admit_routes(self._context.cache, self.hosts, it.resolved)))
        self._inputs.templates.forget(it.resolved.uid)
        return Result(RESYNC_SECONDS).within(it.life.delay)

    async def _keep(self, it: _Admitted) -> Result:
        """Bring everything into the state that the job's lifecycle demands, and report it."""
        context = self._context
        children, refused, error = await self._ensure_children(it)
        if children.addresses is not None:
            refused = refused or await find_refusal(context, it.shape, children.addresses.api)
        runner = Result(RESYNC_SECONDS)
        if it.life.is_stopped:
            await stop(context, it.shape, it.life.suspend, is_applied=error is None, is_overdue=it.life.is_overdue)
        elif children.addresses is not None and it.plan.steps:
            runner = await self._ensure_runner(it, children.addresses.dns)
        await self._report(it, children, refused=refused, runner_problem=runner.problem)
        if error is not None:
            return Result(error=error)
        result = Result(runner.retry_after).within(it.life.delay)
        poll = find_poll(self.hosts, it.resolved.uid, children.routes)
        if poll is not None or is_waiting(children.routes):
            result = result.within(poll or REFUSAL_SECONDS)
        if children.registered.problem:
            result = result.within(REFUSAL_SECONDS)
        if (delay := find_delay(context, it.shape)) is not None:
            result = result.within(delay or REFUSAL_SECONDS)
        if context.applier.is_settling(it.shape.namespace):
            result = result.within(LAG_SECONDS)
        deadline = find_start_deadline(it.job, it.resolved, it.life.record.start_time)
        return result.within(deadline or RESYNC_SECONDS)

    async def _ensure_children(self, it: _Admitted) -> tuple[Children, str | None, Exception | None]:
        """The children; or what the host refused, as text for the user and as the error for the retry."""
        try:
            return await self._children.ensure(it.resolved, it.shape, it.plan, is_stopped=it.life.is_stopped), None, None
        except (ForeignObject, Forbidden, Invalid) as error:
            if isinstance(error, Forbidden) and error.is_terminating:
                raise RetryLater(1, error.message) from None
            await together(keep_home_keys(self._context, it.shape), self._children.keep_walls(it.job))
            routes = admit_routes(self._context.cache, self.hosts, it.resolved)
            return Children(routes), getattr(error, "message", str(error)), error

    async def _ensure_runner(self, it: _Admitted, dns_address: str) -> Result:
        is_over = (it.facts.run or {}).get("state") in ("Succeeded", "Failed")
        steps = conditions.find(conditions_of(it.job), conditions.STEPS_APPLIED)
        since = seconds_since(steps["lastTransitionTime"]) if steps and steps["status"] == "False" else 0.0
        return await ensure_runner(self._context, it.resolved, it.plan, dns_address, is_over=is_over, steps_since=since)

    async def _report(
        self, it: _Admitted, children: Children, *, refused: str | None = None, runner_problem: str | None = None
    ) -> None:
        """Observe, decide on the conditions, and write the status."""
        context, resolved, start = self._context, it.resolved, it.life.record.start_time
        cache, home, class_name = context.cache, resolved.home, resolved.class_name
        observed = Observed(
            cluster=cache.clusters.get(home.name, home.namespace),
            server=cache.find(kinds.POD, names.server_pod(home.name), home.namespace),
            runner=cache.find(kinds.POD, home.child(Part.RUNNER), home.namespace),
            plan_hash=it.plan.hash,
            has_app=resolved.spec.has_app,
            problem=refused,
            held=explain_held(cache.pods_by_namespace.all(home.namespace), cache.virtual_nodes),
            note="; ".join(filter(None, (children.problem, children.note))),
            warnings=resolved.warnings,
            unenforced=explain_open(cache.classes.get(class_name), resolved.policy, class_name),
            runner_problem=runner_problem,
            exposure=observe_exposure(cache, resolved, children.routes),
            is_overdue=find_start_deadline(it.job, resolved, start) <= 0,
        )
        has_kubeconfig = children.addresses is not None and not children.problem
        kubeconfig = names.kubeconfig_secret(resolved.name) if has_kubeconfig else None
        details = describe(resolved, observed, it.plan, it.life, kubeconfig)
        if children.addresses is not None:
            details["argoCDNamespace"] = children.registered.namespace
        # By it, HTTPRoutes are found again; so it stays until they are gone.
        if (gateway := resolved.policy.expose.gateway) is not None:
            details["gateway"] = name_gateway(gateway)
        elif children.is_exposed:
            details["gateway"] = None
        found = decide_conditions(observed, it.life)
        await report(context, self.outbox, it.job, build_status(it.job, found, timestamp(), details))


def _is_others(job: Object) -> bool:
    """Whether the job is another controller's to run. What has our finalizer nevertheless, somebody's copy, must not hang."""
    return is_managed_elsewhere(job) and not (is_terminating(job) and has_finalizer(job))
