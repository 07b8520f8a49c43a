"""Suspends nested Jobs and CronJobs with their cluster: only a Job's controller can end its pods without counting failures."""

from collections.abc import Callable
from functools import partial

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, conditions_of, find_controller, find_job
from nestor.kube import Change, Kind, WorkQueue, kinds
from nestor.kube.informer import Key, key_of
from nestor.syncer.view.context import RETRY_LIMIT, Context

OURS = "nestor"
_JOB_CONTROLLER = "kubernetes.io/job-controller"
_KINDS = (kinds.JOB, kinds.CRON_JOB)


class JobSuspender:
    """Suspends Jobs, and resumes those that it suspended, also those that an earlier process did."""

    def __init__(self, context: Context) -> None:
        self._nested = context.nested
        self._caches = context.caches
        self.wake: Callable[[str], None] = lambda _uid: None
        """Has somebody look at a pod whose Job has changed."""
        self.queue: WorkQueue[tuple[Kind, Key]] = WorkQueue(
            self._reconcile, workers=8, name="suspended-jobs", max_delay=RETRY_LIMIT
        )
        for kind in _KINDS:
            context.caches.nested(kind).on_change(partial(self._on_job, kind))
        context.caches.on_suspend(self._look_at_all)

    async def is_released(self, pod: Object) -> bool:
        """False if the pod's Job will end the pod once suspended: if we deleted it, the Job would count a failure."""
        owner = find_job(pod)
        if not owner:
            return True
        uid, name, namespace = owner["uid"], owner["name"], pod["metadata"]["namespace"]
        cached = self._caches.nested(kinds.JOB).get(name, namespace)
        if cached is not None and cached["metadata"]["uid"] == uid and not is_done_with_pods(cached):
            return False
        job = await self._nested.find(kinds.JOB, name, namespace)
        return job is None or job["metadata"]["uid"] != uid or is_done_with_pods(job)

    def _look_at_all(self) -> None:
        for kind in _KINDS:
            for job in self._caches.nested(kind):
                self.queue.add((kind, key_of(job)))

    def _on_job(self, kind: Kind, change: Change) -> None:
        self.queue.add((kind, change.key))
        if kind is kinds.JOB and self._caches.is_suspended:
            for pod in self._caches.by_namespace(kinds.POD).all(change.key[0]):
                if find_controller(pod).get("uid") == change.latest["metadata"]["uid"]:
                    self.wake(pod["metadata"]["uid"])

    async def _reconcile(self, item: tuple[Kind, Key]) -> None:
        kind, (namespace, name) = item
        job = self._caches.nested(kind).get(name, namespace)
        patch = build_job_patch(job, suspended=self._caches.is_suspended) if job is not None else None
        if patch is not None:
            self._caches.nested(kind).put(await self._nested.patch(kind, name, namespace, patch))


def build_job_patch(job: Object, *, suspended: bool) -> Object | None:
    """The merge patch that suspends or resumes a Job or CronJob, or None. Those suspended by their owner are left alone."""
    meta = job["metadata"]
    if suspended:
        if meta.get("deletionTimestamp") or job["spec"].get("suspend") or is_finished(job):
            return None
    elif annotations_of(job).get(labels.SUSPENDED_BY) != OURS:
        return None
    return {
        # The version makes the patch fail if the owner changes the object at the same moment.
        "metadata": {
            "resourceVersion": meta["resourceVersion"],
            "annotations": {labels.SUSPENDED_BY: OURS if suspended else None},
        },
        "spec": {"suspend": suspended},
    }


def is_finished(job: Object) -> bool:
    found = conditions_of(job)
    return any(conditions.is_true(found, kind) for kind in ("Complete", "Failed"))


def is_done_with_pods(job: Object) -> bool:
    """True if suspending the Job does not make its controller end the pods (any more)."""
    manager = job["spec"].get("managedBy") or _JOB_CONTROLLER
    return manager != _JOB_CONTROLLER or is_finished(job)
