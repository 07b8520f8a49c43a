"""The PodGroups of gangs that the host's own scheduler holds together: made before their pods, deleted after them."""

from __future__ import annotations

import asyncio
import logging
import time

from nestor.kube import Change, Conflict, Kind, NotFound, RetryLater, WorkQueue, kinds
from nestor.kube.kinds import right
from nestor.pods.translate.gang import build_group, find_group, name_group
from nestor.pods.translate.gang_claims import Membership
from nestor.syncer.view.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

POD_GROUPS = tuple(Kind("scheduling.k8s.io", version, "podgroups", "PodGroup") for version in ("v1beta1", "v1alpha2"))
"""Newest version first."""
COMING_SECONDS = 60.0
"""How long after a group was needed its pods may still come."""
RIGHTS = (right(POD_GROUPS[0], "create", "delete"),)
"""The permissions it needs in the host namespace."""


class NoGang(Exception):
    """What a gang needs is not there. Says what."""


class GangGroups:
    """Keeps the groups of this cluster's gangs, which are known by their names."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._needed: dict[str, float] = {}
        """When each group that is there was last needed."""
        self._lock = asyncio.Lock()
        self.queue: WorkQueue[str] = WorkQueue(self._clear, workers=1, name="gang-groups", max_delay=RETRY_LIMIT)
        context.caches.host(kinds.POD).on_change(self._on_host)

    async def ensure(self, membership: Membership) -> None:
        """Have the group of a gang. Raises `NoGang` if the host cluster knows no such groups, and `ApiError`."""
        name = name_group(membership)
        async with self._lock:
            if name not in self._needed:
                await self._write(membership)
            self._needed[name] = time.monotonic()

    async def _write(self, membership: Membership) -> None:
        body = build_group(membership, self._context.target)
        for kind in POD_GROUPS:
            try:
                await self._context.host.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **body})
            except NotFound:
                continue
            except Conflict:
                log.debug("group %s is there already", body["metadata"]["name"])  # its size can never change
            return
        raise NoGang("the host cluster knows no PodGroups, which `placement.gang.scheduler` 'Kubernetes' of the class needs")

    def _on_host(self, change: Change) -> None:
        if change.new is None and (name := find_group(change.latest)):
            self.queue.add(name)

    async def _clear(self, name: str) -> None:
        """Delete a group without pods, unless some may still come."""
        async with self._lock:
            if any(find_group(host) == name for host in self._context.caches.host(kinds.POD)):
                return
            wait = self._needed.get(name, -COMING_SECONDS) + COMING_SECONDS - time.monotonic()
            if wait > 0:
                raise RetryLater(wait, "pods of the gang may still come")
            for kind in POD_GROUPS:
                await self._context.host.delete(kind, name, self._context.target.namespace)
            self._needed.pop(name, None)
