"""The group objects of gangs that a scheduler of the host cluster holds together: made before their pods, deleted after them."""

from __future__ import annotations

import asyncio
import logging
import time

from nestor.api import labels
from nestor.api.placement_gang import Gang, GangScheduler
from nestor.kube import Change, Conflict, Kind, NotFound, RetryLater, WorkQueue, kinds
from nestor.kube.rights import right
from nestor.objects import Object, annotations_of
from nestor.syncer.view.context import RETRY_LIMIT, Context
from nestor.translate.gang_claims import Membership
from nestor.translate.gang_groups import DIALECTS, build_group, name_group

log = logging.getLogger(__name__)

Key = tuple[GangScheduler, str]
"""A scheduler, and the name of a group."""


class NoGang(Exception):
    """What a gang needs is not there. Says what."""


COMING_SECONDS = 60.0
"""How long after a group was needed its pods may still come."""


def list_kinds(scheduler: GangScheduler) -> list[Kind]:
    """The kinds of the scheduler's groups, newest version first."""
    dialect = DIALECTS[scheduler]
    return [Kind(dialect.group, version, "podgroups", "PodGroup") for version in dialect.versions]


RIGHTS = tuple(right(list_kinds(scheduler)[0], "create", "patch", "delete") for scheduler in DIALECTS)
"""The permissions it needs in the host namespace."""


class GangGroups:
    """Keeps the groups of this cluster's gangs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: dict[Key, tuple[int, Kind]] = {}
        self._needed: dict[Key, float] = {}
        self._locks: dict[Key, asyncio.Lock] = {}
        self.queue: WorkQueue[Key] = WorkQueue(self._clear, workers=1, name="gang-groups", max_delay=RETRY_LIMIT)
        context.caches.host(kinds.POD).on_change(self._on_host)

    async def ensure(self, membership: Membership, rules: Gang) -> None:
        """Have the group of a gang. Raises `NoGang` if the host cluster knows no such groups, and `ApiError`."""
        key = (rules.scheduler, name_group(membership))
        async with self._locks.setdefault(key, asyncio.Lock()):
            self._needed[key] = time.monotonic()
            size, _ = self._made.get(key, (0, None))
            if size != membership.size:
                body = build_group(membership, rules, self._context.target)
                self._made[key] = (membership.size, await self._write(body, rules.scheduler))

    async def _write(self, body: Object, scheduler: GangScheduler) -> Kind:
        dialect = DIALECTS[scheduler]
        for kind in list_kinds(scheduler):
            whole = {"apiVersion": kind.api_version, "kind": kind.name, **body}
            try:
                if dialect.is_fixed:
                    await self._context.host.create(kind, whole)
                else:
                    await self._context.host.apply(kind, whole)
            except NotFound:
                continue
            except Conflict:
                log.debug("group %s is there already", body["metadata"]["name"])
            return kind
        raise NoGang(
            f"the host cluster knows no PodGroups of group {dialect.group}, which the class's `placement.gang.scheduler` "
            f"'{scheduler}' needs"
        )

    def _on_host(self, change: Change) -> None:
        if change.new is None and (key := find_key(change.latest)):
            self.queue.add(key)

    async def _clear(self, key: Key) -> None:
        """Delete a group without pods, unless some may still come."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if any(find_key(host) == key for host in self._context.caches.host(kinds.POD)):
                return
            wait = self._needed.get(key, -COMING_SECONDS) + COMING_SECONDS - time.monotonic()
            if wait > 0:
                raise RetryLater(wait, "pods of the gang may still come")
            scheduler, name = key
            _, kind = self._made.pop(key, (0, None))
            for item in [kind] if kind else list_kinds(scheduler):
                await self._context.host.delete(item, name, self._context.target.namespace)
            self._needed.pop(key, None)
        self._locks.pop(key, None)


def find_key(host: Object) -> Key | None:
    """The group that a host pod is in."""
    scheduler, _, name = annotations_of(host).get(labels.GANG_GROUP, "").partition("/")
    return next(((item, name) for item in DIALECTS if item == scheduler), None)
