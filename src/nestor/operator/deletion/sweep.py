"""Namespaces without a job: they are empty and wait for their controller, or somebody removed our finalizer."""

import logging
import time

from nestor.api import labels, names
from nestor.api.objects import Object, is_terminating, labels_of
from nestor.kube import kinds
from nestor.operator.deletion.finalize import LEFT_BEHIND, LEFT_SECONDS, POLL_SECONDS, Finalizer, explain_left
from nestor.operator.world.context import Context, Result
from nestor.operator.world.ownership import find_job, find_namespace

log = logging.getLogger(__name__)

SLOW_SECONDS = 30.0
"""How soon to look again at a terminating namespace: it sends events, and may be stuck for days."""


class Sweeper:
    def __init__(self, context: Context, finalizer: Finalizer) -> None:
        self._context = context
        self._finalizer = finalizer
        self._orphans: dict[str, str] = {}
        """The keys of their deletions, by the namespaces' UIDs."""

    async def sweep(self, namespace: str, name: str) -> Result:
        """Delete host namespaces labeled for this job that belong to none, once the API server confirms it."""
        self._drop_gone()
        known = self._context.cache.jobs.get(name, namespace)
        left = [item for item in self._find(namespace, name) if _is_orphan(item, known)]
        if not left:
            return Result()
        job = await self._context.api.find(kinds.NESTED_APP_JOB, name, namespace)
        if job is not None:
            self._context.cache.jobs.put(job)
        orphans = [item for item in left if _is_orphan(item, job)]
        for item in orphans:
            await self._sweep_one(item, namespace, name, is_alive=job is not None and _owner(item) == job["metadata"]["uid"])
        is_slow = len(orphans) == len(left) and all(is_terminating(item) for item in orphans)
        return Result(SLOW_SECONDS if is_slow else POLL_SECONDS)

    def _find(self, namespace: str, name: str) -> list[Object]:
        """The host namespaces labeled for that job, by names that only Nestor gives: labels may be copied."""
        wanted = {labels.JOB: name, labels.JOB_NAMESPACE: namespace}.items()
        found = [item for item in self._context.cache.informers[kinds.NAMESPACE] if wanted <= labels_of(item).items()]
        return [item for item in found if find_job(item["metadata"]["name"], labels_of(item))]

    async def _sweep_one(self, orphan: Object, namespace: str, name: str, *, is_alive: bool) -> None:
        where, uid, owner = orphan["metadata"]["name"], orphan["metadata"]["uid"], _owner(orphan)
        if uid not in self._orphans:
            self._orphans[uid] = uid if is_alive else owner  # a job that lives may be deleted later, and takes its own time
            if not is_terminating(orphan):
                why = "has another" if is_alive else "no longer exists"
                log.warning("deleting namespace %s: its job %s/%s %s", where, namespace, name, why)
            self._finalizer.forget_home(where, names.cluster_name(name, where))
            if not is_alive:
                self._finalizer.forget(owner)
        deletion = self._finalizer.deletions[self._orphans[uid]]
        age = time.monotonic() - deletion.since
        await self._finalizer.empty(orphan, age, about=None)
        await self._context.api.delete(kinds.CLUSTER_ROLE_BINDING, where)
        if age > self._context.settings.give_up_after + LEFT_SECONDS and uid not in deletion.told:
            deletion.told.add(uid)
            await self._context.post(kinds.NAMESPACE, orphan, "Warning", LEFT_BEHIND, explain_left(orphan))

    def _drop_gone(self) -> None:
        if self._orphans:
            live = {item["metadata"]["uid"] for item in self._context.cache.informers[kinds.NAMESPACE]}
            for uid in self._orphans.keys() - live:
                self._finalizer.deletions.pop(self._orphans.pop(uid), None)


def _is_orphan(namespace: Object, job: Object | None) -> bool:
    """Whether it is not that job's. One of a pool is, as long as the job's status says so: that is written first."""
    name = namespace["metadata"]["name"]
    return job is None or _owner(namespace) != job["metadata"]["uid"] or find_namespace(job) != name


def _owner(namespace: Object) -> str:
    """The UID of the job that a namespace is labeled for."""
    return str(namespace["metadata"]["labels"][labels.JOB_UID])
