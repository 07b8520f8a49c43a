"""Tells Kueue what became of jobs."""

from __future__ import annotations

from nestor.api import labels
from nestor.kube import Kind
from nestor.objects import Object, conditions_of, labels_of, spec_of, status_of
from nestor.operator.guests.kueue import workload
from nestor.operator.guests.kueue.workloads import Workloads
from nestor.operator.lifecycle import suspend
from nestor.operator.lifecycle.running import is_running, wants_to_run
from nestor.operator.world.context import Context
from nestor.operator.world.homes import is_managed_elsewhere
from nestor.times import timestamp


class Answers:
    """Answers what Kueue wants of jobs, and deletes Workloads by which no job runs any more, or will."""

    def __init__(self, context: Context, workloads: Workloads) -> None:
        self._context = context
        self._workloads = workloads

    async def give(self, job: Object, found: Object, kind: Kind) -> None:
        """Tell Kueue, by the job's Workload `found`, what became of the job. Raises what the API server answers."""
        meta, is_quiet = found["metadata"], suspend.is_quiet(self._context.cache, job)
        if not self._is_asked(job, found):
            if is_quiet or is_running(job):
                await self._workloads.delete(found, kind)
                return
        elif spec_of(job).get("suspend") and is_quiet and not workload.is_prebuilt(job):
            await self._workloads.delete(found, kind)
            return
        if workload.has(found, workload.EVICTED) and workload.has(found, workload.RESERVED):
            if is_quiet:
                patch = workload.build_release(found, timestamp())
                await self._context.api.patch(kind, meta["name"], meta["namespace"], patch, subresource="status")
            return
        is_over = is_quiet and not is_running(job) and not wants_to_run(job) and not spec_of(job).get("suspend")
        answers = workload.find_answers(found, conditions_of(job), is_over=is_over, time=timestamp())
        if answers:
            body = {"metadata": {key: meta[key] for key in ("name", "namespace", "uid")}, "status": {"conditions": answers}}
            await self._context.api.apply(kind, body, subresource="status")

    def _is_asked(self, job: Object, found: Object) -> bool:
        """Whether the job runs by this Workload, or waits for it."""
        policy, assigned = self._context.classes.of(job), status_of(job).get("assigned")
        if policy is None or is_managed_elsewhere(job):
            return True
        if policy.queue.kueue == "Ignore" or not (assigned or labels_of(job).get(labels.KUEUE_QUEUE)):
            return False
        used = assigned["workload"] if assigned and is_running(job) else workload.find_name(job)
        return bool(found["metadata"]["name"] == used)
