"""The end of pods, in the kubelet's order: the host pod first, with its grace, then the nested object."""

from __future__ import annotations

import contextlib

from nestor.kube import Conflict, NotFound, kinds
from nestor.objects import Object
from nestor.providers.base import Provider
from nestor.syncer.pods import decide
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.view.context import Context
from nestor.translate import status


class PodDeleter:
    """Deletes by UID: a successor of the same name is never touched."""

    def __init__(self, context: Context, provider: Provider, syncer: PodSyncer) -> None:
        self._context = context
        self._provider = provider
        self._syncer = syncer

    async def stop(self, nested: Object, host: Object) -> None:
        """The tenant deletes the pod: end the host pod within the grace period that the nested one was given."""
        await self.remove(host, nested)
        await self._syncer.sync(nested, host)

    async def remove(self, host: Object, nested: Object | None = None) -> None:
        """Ask for the host pod's deletion, once; sooner when the tenant wants it sooner."""
        if not decide.is_removal_due(nested, host):
            return
        grace = nested["metadata"].get("deletionGracePeriodSeconds") if nested else None
        await self._provider.delete(host, grace_seconds=grace)

    async def withdraw(self, host: Object) -> None:
        """Take back a host pod that is on no node. One that gets its node at this very moment is left: it has begun to run."""
        await self._provider.delete(host, is_unchanged=True)

    async def finish(self, nested: Object, last: Object | None) -> None:
        """The host pod is gone: write how it ended, then let the nested object go.

        Pods with finalizers (those of Jobs) stay until their controller has read that status.
        """
        meta = nested["metadata"]
        if last is not None or status.is_bound(nested):
            await self._syncer.lose(nested, last)
        if meta.get("deletionGracePeriodSeconds") == 0 and meta.get("finalizers") and status.is_terminal(nested):
            # Asked for already; what still holds it is not ours. Where nothing holds it, a restart of ours cut that request off
            # between its two steps, and nobody else will finish it.
            return
        with contextlib.suppress(NotFound, Conflict):
            await self._context.nested.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)
