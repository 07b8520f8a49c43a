"""`reconcile(job)`: computes the desired state from spec and observed children, from scratch in every pass."""

import logging
from collections import Counter
from dataclasses import replace

from nestor.api import conditions
from nestor.api.objects import Object, is_terminating, status_of
from nestor.kube import ApiError, NotFound, RetryLater, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import Denial, JobIdentity, Refused
from nestor.operator.admission.resolver import AppResolver
from nestor.operator.admission.turn import Turn, assign_nodes, cap_quota, find_reserved
from nestor.operator.deletion.finalize import Finalizer
from nestor.operator.deletion.sweep import SLOW_SECONDS, Sweeper
from nestor.operator.job.admitted import AdmittedJobs
from nestor.operator.job.children import ChildrenKeeper, keep_policy
from nestor.operator.job.guests import GUESTS
from nestor.operator.job.hosts import Hosts
from nestor.operator.job.refused import reconcile_refused
from nestor.operator.lifecycle.record import was_stopped
from nestor.operator.lifecycle.suspend import is_quiet
from nestor.operator.world.context import Context, Result
from nestor.operator.world.kept import find_fault
from nestor.operator.world.ownership import ensure_finalizer, find_home, has_finalizer, is_managed_elsewhere

log = logging.getLogger(__name__)

PATIENCE = 8
"""Passes in a row that an API server's errors may end, half a minute with the queue's pauses, before the job is told of it."""


class JobReconciler:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.guests = [make(context) for make in GUESTS]
        self.hosts = Hosts(context.cache, context.classes)
        self._inputs = CopiedInputs(context.applier, context.settings.namespace)
        self._children = ChildrenKeeper(context, self.guests, self._inputs, self.hosts)
        self._admitted = AdmittedJobs(context, self.guests, self._inputs, self.hosts, self._children)
        self._apps = AppResolver(context, self._inputs, self._children.ensure_home, self._admit)
        self._finalizer = Finalizer(context, self.guests, self._inputs)
        self._sweeper = Sweeper(context, self._finalizer)
        self._failures: Counter[tuple[str, str]] = Counter()
        """Passes in a row that failed, by the job's namespace and name."""

    async def reconcile(self, namespace: str, name: str) -> Result:
        """One pass over one job, and over what an earlier job of the same name left behind."""
        for guest in self.guests:
            await guest.notice(namespace, name, self._context.cache.jobs.get(name, namespace))
        swept = await self._sweep(namespace, name)
        job = self._context.cache.jobs.get(name, namespace)
        if job is None:
            self._failures.pop((namespace, name), None)
            return swept
        # What has our finalizer nevertheless, somebody's copy, must not hang.
        if is_managed_elsewhere(job) and not (is_terminating(job) and has_finalizer(job)):
            return swept
        try:
            result = await self._try(job)
            for guest in self.guests:
                await guest.follow(job)
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
            denial = Denial(conditions.INTERNAL_ERROR, message, queue=status_of(job).get("queue"))
            latest = self._context.cache.jobs.get(meta["name"], meta["namespace"]) or job
            return replace(await self._deny(latest, denial), error=error)
        self._failures.pop(key, None)
        return result

    async def _admit(self, known: JobIdentity) -> Turn | Denial:
        """What the job gets with its turn to run, or why it has to wait. Raises `Refused`."""
        turn = Turn()
        for guest in self.guests:
            answer = await guest.admit(known)
            if isinstance(answer, Denial):
                return answer
            turn = answer or turn
        return turn

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
            return await self._finalizer.finalize(job)
        try:
            await keep_policy(self._context, job)
            if find_fault(job) is None:  # nothing is made for a stub; the less often it is written, the better
                job = await ensure_finalizer(self._context.api, kinds.NESTED_APP_JOB, job)
            if not self._context.cache.jobs.put(job):
                return Result()  # deleted while we added the finalizer, which the API server does not report
            resolved = await self._apps.resolve(job)
            if isinstance(resolved, Denial):
                return await self._deny(job, resolved)
            recorded = None if was_stopped(job) and is_quiet(self._context.cache, job) else status_of(job).get("reserved")
            reserved = find_reserved(resolved.policy, resolved.spec.machine, recorded, resolved.turn.granted)
            policy = assign_nodes(cap_quota(resolved.policy, reserved), resolved.turn.app)
            resolved = replace(resolved, policy=policy, reserved=reserved, is_shared=self.hosts.is_shared(job))
            found = await self._admitted.reconcile(job, resolved)
            return await self._deny(job, found) if isinstance(found, Denial) else found
        except Refused as refused:
            return await self._deny(job, refused.denial)
        except NotFound:
            meta = job["metadata"]
            if await self._context.api.find(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"]) is not None:
                raise
            return Result()

    async def _deny(self, job: Object, denial: Denial) -> Result:
        self._inputs.forget_templates(job["metadata"]["uid"])
        for guest in self.guests:
            denial = guest.deny(job, denial)
        await self._children.keep_walls(job)
        return await reconcile_refused(self._context, self.guests, self.hosts, job, denial)
