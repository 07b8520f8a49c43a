"""Keeps the pools of all classes filled, and gives their clusters to jobs.

A cluster is given by two writes: the job's status says which one it gets; then the labels of its namespace, in one request with a
test of what they were, say whose it is. Whatever happens after the first, the next pass over the job goes on with the second.
Nothing of a job is in the namespace before.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable

from nestor.api import conditions, labels, names, pod_status
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, spec_of, status_of
from nestor.api.times import seconds_since
from nestor.cluster.namespace import build_namespace
from nestor.kube import Change, Invalid, NotFound, RetryLater, WorkQueue, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.admission.admit import Resolved
from nestor.operator.guest import Guest
from nestor.operator.guests.pool.decide import Member, Pool, decide
from nestor.operator.guests.pool.member import build_home, choose_cluster, ensure_member, find_key, settle_member
from nestor.operator.status.observe import START_SECONDS
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import find_home
from nestor.operator.world.trim import HELD

log = logging.getLogger(__name__)

SETTLE_SECONDS = 1.0
"""Changes come one after another, and nobody waits for a pool."""
POLL_SECONDS = 30.0
"""How soon to look again while a pool is not as it should be: time alone may change something."""
NO_ROOM = ("Insufficient cpu", "Insufficient memory")
"""Words of the host's scheduler."""


class Pools(Guest):
    """One for all classes, because they share the host's room."""

    queue: WorkQueue[None]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._last = ""
        self._gone: set[str] = set()
        """UIDs of namespaces that are being given or deleted: the caches may not know yet."""
        self.queue = WorkQueue(self._work, workers=1, name="pools", first_delay=1, max_delay=POLL_SECONDS)
        for kind in (kinds.NESTED_CLASS, kinds.NESTED_CLUSTER, kinds.NAMESPACE, kinds.POD):
            context.cache.informers[kind].on_change(self._on_change)

    def _on_change(self, change: Change) -> None:
        is_about = change.latest.get("kind") == kinds.NESTED_CLASS.name or names.is_of_pool(change.key[0] or change.key[1])
        if is_about or any(policy.pool for policy in self._context.classes.all().values()):
            self.queue.add(None, SETTLE_SECONDS)

    async def run(self) -> None:
        self.queue.add(None)
        await self.queue.run()

    async def _work(self, _: None) -> float | None:
        return await self.look()

    # The claim.

    async def begin(self, resolved: Resolved) -> None:
        """The first write. The job starts anew, in the cluster that it gets."""
        context = self._context
        job, found = context.cache.jobs.get(resolved.name, resolved.namespace), self._choose(resolved)
        if job is None or found is None:
            return
        self._gone.add(found.uid)
        try:
            status = status_of(job) | {"namespace": found.namespace, "namespaceUID": found.uid}
            await context.apply_status(kinds.NESTED_APP_JOB, job, status, is_unchanged=True)
        finally:
            self._gone.discard(found.uid)
        log.info("%s/%s gets the cluster in namespace %s", resolved.namespace, resolved.name, found.namespace)
        raise RetryLater(0, "it has got a cluster of its class's pool")

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        """The second write, if it is due; or, if the cluster is lost, the job starts with one of its own."""
        if job is None or is_terminating(job) or not names.is_of_pool((home := find_home(job)).namespace):
            return
        context, status = self._context, status_of(job)
        live = context.cache.find(kinds.NAMESPACE, home.namespace)
        if live is None or home.owns(live):
            return
        if is_terminating(live) or labels.POOL not in labels_of(live) or live["metadata"]["uid"] != status.get("namespaceUID"):
            rest = {key: value for key, value in status.items() if key not in ("namespace", "namespaceUID")}
            await context.apply_status(kinds.NESTED_APP_JOB, job, rest)
            return
        try:
            made = await context.api.patch(kinds.NAMESPACE, home.namespace, None, build_claim(live, home.labels), how="json")
        except (Invalid, NotFound) as error:
            raise RetryLater(SETTLE_SECONDS, f"the cluster in namespace {home.namespace} is lost: {error.message}") from error
        context.cache.informers[kinds.NAMESPACE].put(made)

    def _choose(self, resolved: Resolved) -> Member | None:
        """The oldest that is as the job's own would be."""
        cache, own = self._context.cache, resolved.home.namespace
        is_begun = names.is_of_pool(own) or cache.find(kinds.NAMESPACE, own) is not None
        if is_begun or resolved.turn.app is not None or not status_of(cache.classes.get(resolved.class_name)).get("pool"):
            return None
        key = find_key(self._context, resolved.cluster, resolved.policy, resolved.turn.server)
        fit = [
            item
            for item in self._list()
            if item.is_ready
            and not (item.is_given or item.is_ending)
            and (item.class_name, item.key) == (resolved.class_name, key)
        ]
        return max(fit, key=lambda item: item.age, default=None)

    # The pools.

    async def look(self) -> float | None:
        """One pass over all pools. Returns when to look again, in seconds; None: when something changes."""
        wanted, members = self._find_wanted(), self._list()
        if not wanted and not members:
            return None
        pools = {name: pool for name, (pool, *_) in wanted.items()}
        is_busy, is_short = self._look_at_pods({item.namespace for item in members if not item.is_given})
        decision = decide(pools, members, is_busy=is_busy, is_short=is_short, last=self._last)
        for item in decision.drop:
            await self._drop(item)
        kept = [item for item in members if not (item.is_given or item.is_ending) and item not in decision.drop]
        if decision.make is not None:
            kept.append(await self._make(decision.make, *wanted[decision.make]))
        await self._record(kept)
        for item in kept:
            await self._keep(item, *wanted[item.class_name or ""])
        is_full = len(kept) == sum(pool.size for pool in pools.values()) and all(item.is_ready for item in kept)
        return RESYNC_SECONDS if is_full else POLL_SECONDS

    def _find_wanted(self) -> dict[str, tuple[Pool, NestedClusterSpec, NestedClassSpec]]:
        found = {}
        for name, policy in self._context.classes.all().items():
            cluster = choose_cluster(self._context, name, policy) if policy.pool else None
            if cluster is not None:
                found[name] = Pool(policy.pool, find_key(self._context, cluster, policy)), cluster, policy
        return found

    def _list(self) -> list[Member]:
        """All clusters that no job has, with the class that has recorded them: names and labels prove nothing."""
        cache = self._context.cache
        recorded = {
            entry["uid"]: item["metadata"]["name"] for item in cache.classes for entry in status_of(item).get("pool") or ()
        }
        given = {status_of(job).get("namespace") for job in cache.jobs}
        found, there = [], set()
        for item in cache.informers[kinds.NAMESPACE]:
            meta, key = item["metadata"], labels_of(item).get(labels.POOL)
            if key is None or not names.is_of_pool(meta["name"]):
                continue
            there.add(meta["uid"])
            server = cache.find(kinds.POD, names.server_pod(names.POOLED), meta["name"])
            cluster = cache.clusters.get(names.POOLED, meta["name"])
            is_ready = conditions.is_true(conditions_of(cluster), conditions.READY) and bool(
                server and pod_status.is_ready(server)
            )
            found.append(
                Member(
                    meta["name"],
                    meta["uid"],
                    key,
                    recorded.get(meta["uid"]),
                    seconds_since(meta["creationTimestamp"]),
                    is_ready=is_ready,
                    is_given=meta["name"] in given,
                    is_ending=is_terminating(item) or meta["uid"] in self._gone,
                )
            )
        self._gone &= there
        return found

    def _look_at_pods(self, pooled: set[str]) -> tuple[bool, bool]:
        """Whether a job's cluster is starting, and whether a pod of a job lacks room."""
        is_busy = is_short = False
        for pod in self._context.cache.informers[kinds.POD]:
            meta, is_server = pod["metadata"], labels_of(pod).get(labels.COMPONENT) == labels.COMPONENT_SERVER
            if meta["namespace"] in pooled or is_terminating(pod):
                continue
            if not spec_of(pod).get("nodeName"):
                held = status_of(pod).get(HELD) or pod_status.find_unschedulable(pod) or ""
                is_short = is_short or any(words in held for words in NO_ROOM)
            elif is_server and not pod_status.is_ready(pod):
                is_busy = is_busy or seconds_since(meta["creationTimestamp"]) < START_SECONDS
        return is_busy, is_short

    async def _make(self, name: str, pool: Pool, _: NestedClusterSpec, policy: NestedClassSpec) -> Member:
        """Its namespace. It is recorded before anything is in it; one that is not is deleted."""
        context, self._last = self._context, name
        where = names.pool_namespace(name, secrets.token_hex(4))
        own = build_home(where).labels | {labels.POOL: pool.key}
        body = build_namespace(where, own, policy)
        made = await context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
        context.cache.informers[kinds.NAMESPACE].put(made)
        return Member(where, made["metadata"]["uid"], pool.key, name, 0)

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

    async def _keep(self, item: Member, _: Pool, cluster: NestedClusterSpec, policy: NestedClassSpec) -> None:
        context, home = self._context, build_home(item.namespace, item.uid)
        server = context.cache.find(kinds.POD, names.server_pod(home.name), home.namespace)
        if item.is_ready and server is not None:
            await settle_member(context, home, cluster, policy, server)
        else:
            await ensure_member(context, home, cluster, policy)

    async def _drop(self, item: Member) -> None:
        context = self._context
        self._gone.add(item.uid)
        server = context.cache.find(kinds.POD, names.server_pod(names.POOLED), item.namespace)
        why = "" if item.is_ready or server is None else pod_status.find_held(server)
        log.info("deleting the cluster in namespace %s, which no job has%s", item.namespace, f": {why}" if why else "")
        await context.api.delete(kinds.NAMESPACE, item.namespace, uid=item.uid)
        context.applier.forget(item.namespace)
        context.provisioner.forget(item.namespace, names.POOLED)


def build_claim(live: Object, wanted: dict[str, str]) -> list[Object]:
    """The patch by which a namespace becomes a job's. It fails if it is not as it was, and so another job's, or another one."""
    own, meta = labels_of(live), live["metadata"]
    marks = {"/metadata/labels/" + key.replace("/", "~1"): value for key, value in wanted.items()}
    pool = "/metadata/labels/" + labels.POOL.replace("/", "~1")
    return [
        {"op": "test", "path": "/metadata/uid", "value": meta["uid"]},
        {"op": "test", "path": pool, "value": own[labels.POOL]},
        {"op": "remove", "path": pool},
        *({"op": "replace", "path": path, "value": value} for path, value in marks.items()),
    ]
