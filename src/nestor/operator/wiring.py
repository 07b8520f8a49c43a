"""How events flow: informers and kopf → keys → queue → reconcilers. If any part fails, all of it ends."""

import asyncio
import dataclasses
import logging
import time
from collections.abc import Awaitable, Callable, Iterable

from nestor.api import conditions, labels
from nestor.api.class_choice import find_class_name
from nestor.api.objects import Object, conditions_of, labels_of, spec_of
from nestor.cluster.exposure.host_claims import hosts_of
from nestor.kube import Change, Kind, RetryLater, WorkQueue, kinds
from nestor.kube.optional import OptionalInformer
from nestor.kube.serving import pages
from nestor.kube.serving.pages import METRICS, Pages
from nestor.kube.tasks import together
from nestor.operator import gauges, logs
from nestor.operator.admission.catalog import reconcile_app
from nestor.operator.backends.reconcile import BackendReconciler
from nestor.operator.backends.requests import RequestReconciler
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.status.report import is_new, reconcile_class, write_first
from nestor.operator.world.context import Context, Result
from nestor.operator.world.definitions import Definitions
from nestor.operator.world.host_facts import keep_host
from nestor.operator.world.ownership import find_job
from nestor.operator.world.trim import OWN

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Key:
    """An item of the work queue: a job, a class, a catalog entry, a backend, or a request of a backend's."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


STALE_SECONDS = 420
"""The server ends a watch after 240 s at most, so a healthy one shows activity more often; the rest is time to reconnect."""
FIRST_SECONDS = 2
"""After so long, a job whose first pass is still under way gets a status."""


class Operator:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.cache = context.cache
        context.wake = self._wake
        self._jobs = JobReconciler(context)
        self.guests = self._jobs.guests
        backends, requests = BackendReconciler(context), RequestReconciler(context)
        self._passes: dict[Kind, Callable[[str, str], Awaitable[Result | None]]] = {
            kinds.NESTED_APP_JOB: self._jobs.reconcile,
            kinds.NESTED_CLASS: lambda _, name: reconcile_class(context, self.guests, name),
            kinds.NESTED_APP: lambda _, name: reconcile_app(context, name),
            kinds.OVERFLOW_BACKEND: lambda _, name: backends.reconcile(name),
            kinds.CERTIFICATE_REQUEST: lambda _, name: requests.reconcile(name),
        }
        self._definitions = Definitions(context.api)
        self.queue: WorkQueue[Key] = WorkQueue(
            self._reconcile, workers=context.settings.workers, name="reconcile", lane_of=lambda key: key.namespace
        )
        self._first: WorkQueue[Key] = WorkQueue(
            self._write_first, workers=20, name="first status", lane_of=lambda key: key.namespace
        )
        special = {
            kinds.NESTED_APP_JOB: self._on_job,
            kinds.NESTED_CLASS: self._on_class,
            kinds.NESTED_APP: self._on_app,
            kinds.OVERFLOW_BACKEND: self._on_backend,
            **dict.fromkeys(self.cache.exposing, self._on_exposing),
        }
        for kind, informer in self.cache.informers.items():
            informer.on_change(special.get(kind, lambda change: self._add_owner(change.latest)))
        self.cache.informers[kinds.NODE].on_change(self._on_node)

    async def work(self) -> None:
        """Work until cancelled. If a part fails, all of it ends with its error."""
        async with asyncio.TaskGroup() as group:
            for informer in self.cache.informers.values():
                group.create_task(informer.run(), name=informer.kind.plural)
            group.create_task(self._work(), name="queue")
            group.create_task(self.build_pages().serve(self.context.settings.port), name="health")

    async def _work(self) -> None:
        """Fill every cache before the first decision: otherwise objects that look missing would be created again. And know
        that whatever is decided can be written.
        """
        optional = [item for item in self.cache.informers.values() if isinstance(item, OptionalInformer)]
        for informer in self.cache.informers.values():
            if informer not in optional:
                await informer.synced.wait()
        await self._definitions.wait()
        for found in optional:  # by now it is known whether anybody wants them
            await found.settle()
        guests, host = (guest.run() for guest in self.guests), keep_host(self.context, lambda: self._add_jobs(self.cache.jobs))
        await together(self.queue.run(), self._first.run(), *guests, host)

    async def _reconcile(self, key: Key) -> float | None:
        """Tells the queue when to look again, or, by raising, to retry soon."""
        started, has_failed = time.monotonic(), True
        try:
            with logs.about(key.kind.name, key.namespace, key.name, self.cache.find(key.kind, key.name, key.namespace)):
                result = await self._passes[key.kind](key.namespace, key.name) or Result()
            has_failed = result.error is not None
        except RetryLater:
            has_failed = False
            raise
        finally:
            took = time.monotonic() - started
            self.context.meters.note_pass(key.kind.name, took, failed=has_failed)
            log.debug("%s reconciled in %.0f ms", key, 1000 * took)
        if result.error is not None:
            raise result.error
        return result.retry_after

    async def _write_first(self, key: Key) -> None:
        """Before a new job waits in the queue behind others, or while its own first pass takes long."""
        job = self.cache.jobs.get(key.name, key.namespace)
        if job is not None and is_new(job):
            await write_first(self.context, job)
        if job is None or is_new(job):
            self.queue.add(key)

    def _wake(self, kind: Kind, name: str, namespace: str) -> None:
        self.queue.add(Key(kind, namespace, name))

    def look_at(self, plural: str, namespace: str, name: str) -> None:
        """Have a pass made over one of our resources. Of a cluster, over its job."""
        kind = next(kind for kind in OWN if kind.plural == plural)
        if kind != kinds.NESTED_CLUSTER:
            self._wake(kind, name, namespace)
        elif (cluster := self.cache.clusters.get(name, namespace)) is not None:
            self._add_owner(cluster)

    def _add_jobs(self, jobs: Iterable[Object]) -> None:
        for job in jobs:
            self.queue.add(Key(kinds.NESTED_APP_JOB, job["metadata"]["namespace"], job["metadata"]["name"]))

    def _on_job(self, change: Change) -> None:
        job, meta = change.latest, change.latest["metadata"]
        key = Key(kinds.NESTED_APP_JOB, meta["namespace"], meta["name"])
        if is_new(job) and len(self.queue) > 0 and key not in self.queue:
            self._first.add(key)
        else:
            self.queue.add(key)
            if is_new(job):
                self._first.add(key, FIRST_SECONDS)
        if change.new is None:
            self._add_claimants({claim.host for claim in self._jobs.hosts.of(job)})
            self._jobs.hosts.forget(meta["uid"])

    def _on_class(self, change: Change) -> None:
        """A changed class may admit refused jobs, and change the objects of others. Jobs that name none may be given it."""
        name = change.latest["metadata"]["name"]
        self.queue.add(Key(kinds.NESTED_CLASS, "", name))
        if self.context.classes.concerns_jobs(change):
            self._add_jobs(job for job in self.cache.jobs if find_class_name(job) in ("", name))

    def _on_app(self, change: Change) -> None:
        """Jobs that wait for the entry can start now; running jobs have their own copy, and say so."""
        name = change.latest["metadata"]["name"]
        self.queue.add(Key(kinds.NESTED_APP, "", name))
        self._add_jobs(job for job in self.cache.jobs if (spec_of(job).get("appRef") or {}).get("name") == name)

    def _on_backend(self, change: Change) -> None:
        name = change.latest["metadata"]["name"]
        self.queue.add(Key(kinds.OVERFLOW_BACKEND, "", name))
        before, after = ((spec_of(item).get("node") or {}).get("taints") for item in (change.old, change.new))
        if change.old is None or change.new is None or before != after:
            self._add_users(name)

    def _add_users(self, backend: str) -> None:
        """Queue the jobs that may use a backend: their pods tolerate its taints."""
        users = {
            name
            for name, spec in self.context.classes.all().items()
            if spec.placement and spec.placement.overflow and backend in {item.name for item in spec.placement.overflow.backends}
        }
        self._add_jobs(job for job in self.cache.jobs if find_class_name(job, self.context.classes.default) in users)

    def _on_node(self, change: Change) -> None:
        """Queue the jobs that may have pods on a virtual node that became ready, or stopped being that."""
        before, after = (conditions.is_true(conditions_of(item), conditions.READY) for item in (change.old, change.new))
        if before != after:
            self._add_users(labels_of(change.latest).get(labels.BACKEND, ""))

    def _on_exposing(self, change: Change) -> None:
        """Queue its own job and all jobs that want a host that the Ingress or HTTPRoute gained or lost."""
        if labels_of(change.latest).get(labels.MANAGED_BY) == "nestor":
            self._add_owner(change.latest)
        before, after = (hosts_of(item) if item else set() for item in (change.old, change.new))
        self._add_claimants(before ^ after)

    def _add_claimants(self, hosts: set[str]) -> None:
        for claim in self._jobs.hosts.find(hosts):
            self.queue.add(Key(kinds.NESTED_APP_JOB, claim.namespace, claim.job))

    def _add_owner(self, obj: Object) -> None:
        """Queue the job that an object belongs to, by its labels or its namespace's.

        Only if it is the job's own namespace: users can put any labels on objects in theirs.
        """
        meta, own = obj["metadata"], labels_of(obj)
        if obj.get("kind") == kinds.CERTIFICATE_REQUEST.name:
            self.queue.add(Key(kinds.CERTIFICATE_REQUEST, "", meta["name"]))
            return
        is_backends = obj.get("kind") == kinds.NODE.name or meta.get("namespace") == self.context.settings.namespace
        if labels.BACKEND in own and is_backends:
            self.queue.add(Key(kinds.OVERFLOW_BACKEND, "", own[labels.BACKEND]))
            return
        where = meta["name"] if obj.get("kind") == kinds.NAMESPACE.name else meta.get("namespace", "")
        if job := find_job(where, own) or find_job(where, labels_of(self.cache.find(kinds.NAMESPACE, where))):
            self.queue.add(Key(kinds.NESTED_APP_JOB, *job))

    def build_pages(self) -> Pages:
        def find_stale() -> str | None:
            stale = [item for item in self.cache.informers.values() if item.silence > STALE_SECONDS]
            return (
                "; ".join(f"the watch of {item.kind.plural} has been silent for {item.silence:.0f} s" for item in stale) or None
            )

        def find_unready() -> str | None:
            waiting = [
                item.kind.plural for item in self.cache.informers.values() if not item.synced.is_set() and item.is_expected
            ]
            return f"waiting for the first list of {', '.join(waiting)}" if waiting else self._definitions.problem

        def write_metrics() -> str:
            return gauges.write_page(self.context, self.queue, [family for guest in self.guests for family in guest.measure()])

        def write_caches() -> str:
            informers = [item for item in self.cache.informers.values() if item.is_expected]
            informers += [item for guest in self.guests for item in guest.informers]
            queues = [self.queue, self._first, *(guest.queue for guest in self.guests if guest.queue is not None)]
            return pages.write_caches({"host": informers}, queues)

        texts = {pages.CACHES: write_caches} | ({METRICS: write_metrics} if self.context.settings.metrics else {})
        return Pages({"/healthz": find_stale, "/readyz": find_unready}, texts)
