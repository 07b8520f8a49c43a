"""Suspends nested Jobs and CronJobs with their cluster: only a Job's controller can end its pods without counting failures."""

from __future__ import annotations

from collections.abc import Callable

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, conditions_of, owners_of
from nestor.kube import Change, WorkQueue, kinds
from nestor.kube.informer import Key, key_of
from nestor.syncer.view.context import RETRY_LIMIT, Context
from nestor.syncer.view.watches import Selection, Watches

OURS = "nestor"
_JOB_CONTROLLER = "kubernetes.io/job-controller"
_JOBS = Selection(kinds.JOB.api_version, kinds.JOB.name)
_CRON_JOBS = Selection(kinds.CRON_JOB.api_version, kinds.CRON_JOB.name)


class JobSuspender:
    """Suspends Jobs, and resumes those that it suspended. Watches Jobs only while there is something to do."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.wake: Callable[[str], None] = lambda _uid: None
        """Has somebody look at a pod whose Job has changed."""
        self._suspended: set[tuple[Selection, Key]] = set()
        """What this process has suspended, because the cache may not show it yet."""
        self.watches = Watches(context.nested, self._on_job)
        self.queue: WorkQueue[tuple[Selection, Key]] = WorkQueue(
            self._reconcile, workers=8, name="suspended-jobs", max_delay=RETRY_LIMIT
        )
        context.caches.on_suspend(self._on_suspend)
        # At the start too: an earlier process may have stopped in the middle of a resume.
        self.watches.want((_JOBS, _CRON_JOBS))

    async def is_released(self, pod: Object) -> bool:
        """False if the pod's Job will end the pod once suspended: if we deleted it, the Job would count a failure."""
        controller = find_controller(pod)
        if controller is None or controller["kind"] != "Job" or not controller["apiVersion"].startswith("batch/"):
            return True
        uid = controller["uid"]
        cached = next((job for job in self.watches.find(_JOBS) or [] if job["metadata"]["uid"] == uid), None)
        if cached is not None and not is_done_with_pods(cached):
            return False
        job = await self._context.nested.find(kinds.JOB, controller["name"], pod["metadata"]["namespace"])
        return job is None or job["metadata"]["uid"] != uid or is_done_with_pods(job)

    def _on_suspend(self) -> None:
        if self._context.caches.is_suspended:
            self.watches.want((_JOBS, _CRON_JOBS))
        for selection in (_JOBS, _CRON_JOBS):
            self._look_at_all(selection)

    def _look_at_all(self, selection: Selection) -> None:
        for job in self.watches.find(selection) or []:
            self.queue.add((selection, key_of(job)))

    def _on_job(self, selection: Selection, change: Change | None) -> None:
        if change is None:
            self._look_at_all(selection)
            self._stop_when_done()
            if selection == _JOBS:
                self._tell_pods(lambda _: True)
            return
        self.queue.add((selection, change.key))
        if selection == _JOBS and self._context.caches.is_suspended:
            uid = change.latest["metadata"]["uid"]
            self._tell_pods(lambda owner: owner["uid"] == uid)

    def _tell_pods(self, is_about: Callable[[Object], bool]) -> None:
        for pod in self._context.caches.nested(kinds.POD):
            controller = find_controller(pod)
            if controller is not None and is_about(controller):
                self.wake(pod["metadata"]["uid"])

    async def _reconcile(self, item: tuple[Selection, Key]) -> None:
        is_suspended = self._context.caches.is_suspended
        job = await self._find(item, fresh=item in self._suspended and not is_suspended)
        patch = build_job_patch(job, suspended=is_suspended) if job is not None else None
        if patch is not None:
            (namespace, name), kind = item[1], self.watches.kind_of(item[0])
            if is_suspended:
                self._suspended.add(item)
            await self._context.nested.patch(kind, name, namespace, patch)
        if not is_suspended:
            self._suspended.discard(item)
        self._stop_when_done()

    async def _find(self, item: tuple[Selection, Key], *, fresh: bool) -> Object | None:
        selection, key = item
        if fresh:
            return await self._context.nested.find(self.watches.kind_of(selection), key[1], key[0])
        return next((job for job in self.watches.find(selection) or [] if key_of(job) == key), None)

    def _stop_when_done(self) -> None:
        if self._context.caches.is_suspended or self._suspended:
            return
        found = [self.watches.find(selection) for selection in (_JOBS, _CRON_JOBS)]
        if all(jobs is not None and not any(map(is_suspended_by_us, jobs)) for jobs in found):
            self.watches.want(())


def build_job_patch(job: Object, *, suspended: bool) -> Object | None:
    """The merge patch that suspends or resumes a Job or CronJob, or None. Those suspended by their owner are left alone."""
    meta, is_ours = job["metadata"], is_suspended_by_us(job)
    if suspended:
        if meta.get("deletionTimestamp") or job["spec"].get("suspend") or is_finished(job):
            return None
    elif not is_ours:
        return None
    return {
        # The version makes the patch fail if the owner changes the object at the same moment.
        "metadata": {
            "resourceVersion": meta["resourceVersion"],
            "annotations": {labels.SUSPENDED_BY: OURS if suspended else None},
        },
        "spec": {"suspend": suspended},
    }


def is_suspended_by_us(job: Object) -> bool:
    return annotations_of(job).get(labels.SUSPENDED_BY) == OURS


def is_finished(job: Object) -> bool:
    found = conditions_of(job)
    return any(conditions.is_true(found, kind) for kind in ("Complete", "Failed"))


def is_done_with_pods(job: Object) -> bool:
    """True if suspending the Job does not make its controller end the pods (any more)."""
    manager = job["spec"].get("managedBy") or _JOB_CONTROLLER
    return manager != _JOB_CONTROLLER or is_finished(job)


def find_controller(obj: Object) -> Object | None:
    """The owner reference of the controller that replaces this object when it is deleted."""
    return next((ref for ref in owners_of(obj) if ref.get("controller")), None)
