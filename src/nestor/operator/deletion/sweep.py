"""Namespaces without a job: somebody removed our finalizer, or the namespace could not be deleted in time."""

from __future__ import annotations

import logging
import time

from nestor.api import labels, names
from nestor.api.objects import Object, is_terminating, labels_of
from nestor.kube import kinds
from nestor.operator.deletion.finalize import POLL_SECONDS, Finalizer
from nestor.operator.world.context import Context, Result

log = logging.getLogger(__name__)

SLOW_SECONDS = 30.0
"""How soon to look again at a terminating namespace: it sends events, and may be stuck for days."""


class Sweeper:
    """Deletes namespaces that no longer belong to a job."""

    def __init__(self, context: Context, finalizer: Finalizer) -> None:
        self._context = context
        self._finalizer = finalizer
        self._since: dict[str, tuple[float, str]] = {}
        """When this process first saw an orphan, and the UID of its job, by the namespace's UID."""

    async def sweep(self, namespace: str, name: str) -> Result:
        """Delete host namespaces labeled for this job that belong to none, once the API server confirms it."""
        self._drop_gone()
        known = self._context.cache.jobs.get(name, namespace)
        left = [item for item in self._find(namespace, name) if known is None or _owner(item) != known["metadata"]["uid"]]
        if not left:
            return Result()
        job = await self._context.api.find(kinds.NESTED_APP_JOB, name, namespace)
        if job is not None:
            self._context.cache.jobs.put(job)
        orphans = [item for item in left if job is None or _owner(item) != job["metadata"]["uid"]]
        for item in orphans:
            await self._sweep_one(item, namespace, name)
        is_slow = len(orphans) == len(left) and all(is_terminating(item) for item in orphans)
        return Result(SLOW_SECONDS if is_slow else POLL_SECONDS)

    def _find(self, namespace: str, name: str) -> list[Object]:
        """The host namespaces labeled for a job with that name. Only those that are named for it too: labels may be copied."""
        wanted = {labels.JOB: name, labels.JOB_NAMESPACE: namespace}
        found = []
        for item in self._context.cache.informers[kinds.NAMESPACE]:
            own = labels_of(item)
            uid = own.get(labels.JOB_UID)
            if wanted.items() <= own.items() and uid and item["metadata"]["name"] == names.job_namespace(name, namespace, uid):
                found.append(item)
        return found

    async def _sweep_one(self, orphan: Object, namespace: str, name: str) -> None:
        where, uid = orphan["metadata"]["name"], orphan["metadata"]["uid"]
        if uid not in self._since:
            self._since[uid] = time.monotonic(), _owner(orphan)
            log.warning("deleting namespace %s: its job %s/%s no longer exists", where, namespace, name)
            self._finalizer.forget(where, name, _owner(orphan))
        await self._finalizer.empty(orphan, time.monotonic() - self._since[uid][0], about=None)
        await self._context.api.delete(kinds.CLUSTER_ROLE_BINDING, where)

    def _drop_gone(self) -> None:
        if self._since:
            live = {item["metadata"]["uid"] for item in self._context.cache.informers[kinds.NAMESPACE]}
            for uid in self._since.keys() - live:
                self._finalizer.forget_deletion(self._since.pop(uid)[1])


def _owner(namespace: Object) -> str:
    """The UID of the job that a namespace is labeled for."""
    return str(namespace["metadata"]["labels"][labels.JOB_UID])
