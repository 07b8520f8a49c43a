"""Deletes pods in the kubelet's order: first the host pod, with its grace period, then the nested object."""

import contextlib
from dataclasses import dataclass, field

from nestor.api.objects import Object
from nestor.api.pod_status import is_terminal
from nestor.kube import Conflict, NotFound, kinds
from nestor.pods.providers.host import HostProvider
from nestor.pods.translate import status
from nestor.syncer.pods import decide
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.view.context import Context


@dataclass
class PodDeleter:
    """Deletes pods by UID, so that a successor with the same name is never touched."""

    context: Context
    provider: HostProvider
    syncer: PodSyncer
    finished: set[str] = field(default_factory=set)
    """Nested pods that were deleted for good, whether or not the cache says so yet."""

    async def stop(self, nested: Object, host: Object) -> None:
        """The tenant deletes the pod: end the host pod within the grace period of the nested one."""
        await self.remove(host, nested)
        await self.syncer.sync(nested, host)

    async def remove(self, host: Object, nested: Object | None = None) -> None:
        """Request the host pod's deletion; again only if the tenant wants it sooner."""
        if not decide.is_removal_due(nested, host):
            return
        grace = nested["metadata"].get("deletionGracePeriodSeconds") if nested else None
        await self.provider.delete(host, grace_seconds=grace)

    async def follow(self, nested: Object, host: Object) -> None:
        """The host ends the host pod, for example on a drain or because its node is lost: delete the nested pod with the same
        grace period. Its controller replaces it now, not when the host pod is gone, which on a lost node may take for ever.
        """
        meta = nested["metadata"]
        try:
            await self.syncer.sync(nested, host)  # first: it brings the reason, in the condition DisruptionTarget
        finally:
            # The whole of it, not the rest: a shorter one would read as the tenant's wish that the host pod end sooner.
            grace = host["metadata"]["deletionGracePeriodSeconds"]
            await self.context.nested.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)

    async def withdraw(self, host: Object) -> None:
        """Delete a host pod that has no node. If it gets one at the same moment, it stays, because it has started to run."""
        await self.provider.delete(host, is_unchanged=True)

    async def finish(self, nested: Object, last: Object | None) -> None:
        """The host pod is gone: write how it ended, then delete the nested object.

        Pods with finalizers (those of Jobs) stay until their controller has read that status.
        """
        meta = nested["metadata"]
        if meta["uid"] in self.finished:
            return
        if last is not None or status.is_bound(nested):
            await self.syncer.lose(nested, last)
        if meta.get("deletionGracePeriodSeconds") == 0 and meta.get("finalizers") and is_terminal(nested):
            # Requested already, and a finalizer of someone else holds it. Without finalizers, an earlier request was interrupted
            # halfway by a restart of ours, so it must be repeated.
            return
        with contextlib.suppress(NotFound, Conflict):
            await self.context.nested.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)
            self.finished.add(meta["uid"])

    def forget(self, uid: str) -> None:
        self.finished.discard(uid)
