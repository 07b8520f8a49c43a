"""What schedulers, kubelets, syncers and runners say of all jobs of a control plane, as soon as they can."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nestor.api import conditions, labels
from nestor.api.objects import annotations_of, conditions_of, labels_of, spec_of, status_of
from nestor.kube import Api, Change, Conflict, Informer, NotFound, kinds
from tests.integration.operator.world import READY_POD, Object, be_syncer, be_target, ended

_WORKERS = 8
_STEP = {"name": "hello", "type": "kubectl", "state": "Succeeded", "attempt": 1, "maxAttempts": 1, "message": ""}


class Players:
    """They watch the pods of jobs, and the jobs."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.jobs = Informer(api, kinds.NESTED_APP_JOB)
        self._pods = Informer(api, kinds.POD, labels=labels.JOB_UID)
        self._queue: asyncio.Queue[Object] = asyncio.Queue()
        self._played: set[str] = set()
        self._pods.on_change(self._on_pod)

    def count(self, condition: str) -> int:
        """Jobs of which this is true."""
        return sum(conditions.is_true(conditions_of(job), condition) for job in self.jobs)

    def _on_pod(self, change: Change) -> None:
        if change.new is not None and (uid := change.new["metadata"]["uid"]) not in self._played:
            self._played.add(uid)
            self._queue.put_nowait(change.new)

    @contextlib.asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """They play until the end of a `with` block."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(part) for part in (self.jobs.run(), self._pods.run(), *(self._work() for _ in range(_WORKERS)))
            ]
            await self.jobs.synced.wait()
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def _work(self) -> None:
        while True:
            pod = await self._queue.get()
            with contextlib.suppress(NotFound, Conflict):  # its job is gone
                await self._play(pod)

    async def _play(self, pod: Object) -> None:
        name, where = pod["metadata"]["name"], pod["metadata"]["namespace"]
        job = labels_of(pod)[labels.JOB]
        if labels_of(pod).get(labels.COMPONENT) == labels.COMPONENT_SERVER:
            await self._api.patch(kinds.POD, name, where, {"status": READY_POD}, subresource="status")
            await be_syncer(self._api, job, where)
        elif labels_of(pod).get(labels.COMPONENT) == labels.COMPONENT_RUNNER:
            run = {"version": 1, "hash": annotations_of(pod)[labels.PLAN_HASH], "state": "Succeeded", "steps": [_STEP]}
            await be_target(self._api, where, self._job_of(pod))
            await be_syncer(self._api, job, where, run=run)
            await self._api.patch(kinds.POD, name, where, {"status": ended("runner", 0)}, subresource="status")

    def _job_of(self, pod: Object) -> Object:
        namespace = labels_of(pod)[labels.JOB_NAMESPACE]
        found = self.jobs.get(labels_of(pod)[labels.JOB], namespace)
        assert found is not None
        return found


def is_told(job: Object) -> bool:
    """Whether it has a status of its own spec."""
    return bool(status_of(job).get("conditions")) and not spec_of(job).get("suspend")
