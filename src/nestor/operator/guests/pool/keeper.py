"""Keeps the pools of all classes filled, and gives their clusters to jobs."""

import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace

from nestor.api import labels, names, pod_status
from nestor.api.allowances import JobStorage
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, status_of
from nestor.cluster.namespace import build_namespace
from nestor.cluster.provision import ForeignObject
from nestor.kube import ApiError, Change, Forbidden, Invalid, RetryLater, WorkQueue, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.admission.admit import Resolved
from nestor.operator.guest import Guest
from nestor.operator.guests.pool.decide import START_SECONDS, Member, Pool, decide
from nestor.operator.guests.pool.member import (
    build_home,
    choose_cluster,
    ensure_member,
    find_key,
    find_server,
    finish_claim,
    list_members,
    look_at_pods,
    record_claim,
    settle_member,
)
from nestor.operator.world.context import Context, read_refusal
from nestor.operator.world.ownership import find_cluster

log = logging.getLogger(__name__)

SETTLE_SECONDS = 1.0
"""Changes come one after another, and nobody waits for a pool."""
POLL_SECONDS = 30.0
"""How soon to look again while a pool is not as it should be: time alone may change something."""
QUIET_SECONDS = 5.0
"""For how long after a job got a cluster no other is made, until its runner is there."""


class Pools(Guest):
    """One for all classes, because they share the host's room."""

    queue: WorkQueue[None]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._last = ""
        self._given_at = -QUIET_SECONDS
        self._going: set[str] = set()
        """UIDs of namespaces that are being given, deleted or filled: the caches may not know yet."""
        self._ready_at: dict[str, float] = {}
        """When each was last seen ready, by the namespace's UID."""
        self.queue = WorkQueue(self._look, workers=1, name="pools", first_delay=1, max_delay=POLL_SECONDS)
        for kind in (kinds.NESTED_CLASS, kinds.NESTED_CLUSTER, kinds.NAMESPACE, kinds.POD):
            context.cache.informers[kind].on_change(self._on_change)

    def _on_change(self, change: Change) -> None:
        is_about = change.latest.get("kind") == kinds.NESTED_CLASS.name or names.is_of_pool(change.key[0] or change.key[1])
        if is_about or any(policy.pool for policy in self._context.classes.all().values()):
            self.queue.add(None, SETTLE_SECONDS)

    async def run(self) -> None:
        self.queue.add(None)
        await self.queue.run()

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        """A job may have got a cluster that is not its own yet."""
        if job is not None:
            await finish_claim(self._context, job)

    async def begin(self, resolved: Resolved) -> None:
        """If there is a cluster for the job, it starts anew, in that one."""
        job = self._context.cache.jobs.get(resolved.name, resolved.namespace)
        if job is None or "startTime" in status_of(job) or (found := self._choose(resolved)) is None:
            return
        self._going.add(found.uid)
        self._given_at = time.monotonic()
        try:
            await record_claim(self._context, job, found)
        finally:
            self._going.discard(found.uid)
        log.info("%s/%s gets the cluster in namespace %s", resolved.namespace, resolved.name, found.namespace)
        raise RetryLater(0, "it has got a cluster of its class's pool")

    def _choose(self, resolved: Resolved) -> Member | None:
        """The oldest that is as the job's own would be."""
        cache, home = self._context.cache, resolved.home
        is_begun = names.is_of_pool(home.namespace) or find_cluster(cache, home) is not None
        # Kueue has chosen its nodes; or the volumes of an earlier job wait for it in a namespace of its own.
        is_bound = resolved.turn.app is not None or (resolved.spec.storage or JobStorage()).volumes_from is not None
        if is_begun or is_bound or not status_of(cache.classes.get(resolved.class_name)).get("pool"):
            return None
        key = find_key(self._context, resolved.cluster, resolved.policy, resolved.turn.server)
        there = [item for item in list_members(cache, self._going) if item.is_ready and not (item.is_given or item.is_ending)]
        fit = [item for item in there if (item.class_name, item.key) == (resolved.class_name, key)]
        return max(fit, key=lambda item: item.age, default=None)

    async def _look(self, _key: None) -> float | None:
        """One pass over all pools. Returns when to look again, in seconds; None: when something changes. What an operator that
        died has left undone is done, also where there is no pool any more.
        """
        cache, wanted = self._context.cache, self._find_wanted()
        members = [self._correct_age(item) for item in list_members(cache, self._going)]
        self._going &= {item.uid for item in members}
        self._ready_at = {item.uid: self._ready_at[item.uid] for item in members if item.uid in self._ready_at}
        pools = {name: pool for name, (pool, *_) in wanted.items()}
        is_busy, is_short = look_at_pods(cache, {item.namespace for item in members if not item.is_given})
        is_quiet = time.monotonic() - self._given_at < QUIET_SECONDS
        drop, make = decide(pools, members, is_busy=is_busy or is_quiet, is_short=is_short, last=self._last)
        await self._drop(drop)
        kept = [item for item in members if not (item.is_given or item.is_ending) and item not in drop]
        if make is not None:
            pool, _, policy = wanted[make]
            async with self._telling(make):
                kept.append(await self._make(make, pool.key, policy))
        await self._record(kept)
        for item in kept:
            _, cluster, policy = wanted[item.class_name or ""]
            async with self._telling(item.class_name):
                await self._keep(item, cluster, policy)
        is_full = len(kept) == sum(pool.size for pool in pools.values()) and all(item.is_ready for item in kept)
        if not wanted:
            return None
        return RESYNC_SECONDS if is_full else QUIET_SECONDS if is_quiet else POLL_SECONDS

    def _find_wanted(self) -> dict[str, tuple[Pool, NestedClusterSpec, NestedClassSpec]]:
        found = {}
        for name, policy in self._context.classes.all().items():
            cluster = choose_cluster(self._context, name, policy) if policy.pool else None
            if cluster is not None:
                found[name] = Pool(policy.pool, find_key(self._context, cluster, policy)), cluster, policy
        return found

    def _correct_age(self, item: Member) -> Member:
        now = time.monotonic()
        if item.is_ready:
            self._ready_at[item.uid] = now
        elif item.uid in self._ready_at:
            return replace(item, age=now - self._ready_at[item.uid])
        return item

    @contextlib.asynccontextmanager
    async def _telling(self, name: str | None) -> AsyncIterator[None]:
        """What the host refuses is told of the class, and the other pools go on."""
        try:
            yield
        except (ForeignObject, Forbidden, Invalid) as error:
            await self._tell(name, f"the host refuses a cluster for the pool: {read_refusal(error)}")

    async def _tell(self, name: str | None, message: str) -> None:
        if (made_for := self._context.cache.classes.get(name or "")) is not None:
            await self._context.post(kinds.NESTED_CLASS, made_for, "Warning", "PoolNotReady", message)

    async def _make(self, name: str, key: str, policy: NestedClassSpec) -> Member:
        """Its namespace. It is recorded before anything is in it; one that is not is deleted."""
        context, self._last = self._context, name
        where = names.pool_namespace(name, secrets.token_hex(4))
        own = build_home(where).labels | {labels.POOL: key}
        body = build_namespace(where, own, policy)
        made = await context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
        context.cache.informers[kinds.NAMESPACE].put(made)
        return Member(where, made["metadata"]["uid"], key, name, 0)

    async def _record(self, kept: Iterable[Member]) -> None:
        """In the status of the classes, which users cannot write."""
        cache = self._context.cache
        for item in list(cache.classes):
            meta = item["metadata"]
            mine = [
                {"namespace": one.namespace, "uid": one.uid, "ready": one.is_ready}
                for one in sorted(kept, key=lambda one: one.namespace)
                if one.class_name == meta["name"]
            ]
            if mine != (status_of(item).get("pool") or []):
                patch = {"metadata": {"uid": meta["uid"]}, "status": {"pool": mine or None}}
                made = await self._context.api.patch(kinds.NESTED_CLASS, meta["name"], None, patch, subresource="status")
                cache.classes.put(made)

    async def _keep(self, item: Member, cluster: NestedClusterSpec, policy: NestedClassSpec) -> None:
        context, home = self._context, build_home(item.namespace, item.uid)
        server = find_server(context.cache, home.namespace)
        if item.is_ready and server is not None:
            await settle_member(context, home, cluster, policy, server)
            return
        if any(one.uid == item.uid and (one.is_given or one.is_ending) for one in list_members(context.cache, self._going)):
            return  # meanwhile
        self._going.add(item.uid)
        try:
            await ensure_member(context, home, cluster, policy)
        finally:
            self._going.discard(item.uid)

    async def _drop(self, members: Sequence[Member]) -> None:
        """From now on, no job gets them."""
        context, going = self._context, {item.uid for item in members}
        self._going |= going
        try:
            for item in members:
                log.info("deleting the cluster in namespace %s, which no job has", item.namespace)
                await self._tell_slow(item)
                await context.api.delete(kinds.NAMESPACE, item.namespace, uid=item.uid)
                context.applier.forget(item.namespace)
                context.provisioner.forget(item.namespace, names.POOLED)
        except ApiError:
            self._going -= going
            raise

    async def _tell_slow(self, item: Member) -> None:
        if not item.is_ready and item.age > START_SECONDS:
            server = find_server(self._context.cache, item.namespace)
            why = (server and pod_status.find_held(server)) or "nothing is known to hold it up"
            await self._tell(item.class_name, f"a cluster of the pool was not ready after {START_SECONDS:.0f} s: {why}")
