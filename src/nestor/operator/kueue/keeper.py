"""Keeps the Workloads of jobs: makes them, waits for Kueue's word, and tells it what became of the jobs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from nestor.api import conditions, labels
from nestor.api.assigned import Assigned
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.cluster import shared
from nestor.kube import Change, Informer, Kind, NotFound, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.kube.errors import ApiError, Conflict, Forbidden, Invalid
from nestor.kube.tasks import together
from nestor.objects import Object, conditions_of, is_terminating, labels_of, owners_of, spec_of, status_of
from nestor.operator.admission.identity import JobIdentity, Refused, identify
from nestor.operator.admission.turn import Turn
from nestor.operator.kueue import pod_sets, workload
from nestor.operator.kueue.trim import find_owner, trim_workload
from nestor.operator.lifecycle.suspend import decide_suspend, find_progress
from nestor.operator.queueing.entry import holds_place, wants_to_run
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home
from nestor.times import timestamp

log = logging.getLogger(__name__)

SECONDS = 10.0
"""How soon to look again for Kueue's CRDs."""


class Kueue:
    """`wake` is called with namespace and name of each job that should be looked at again. `runner`: the runner's resources."""

    def __init__(self, context: Context, wake: Callable[[str, str], None], runner: Object) -> None:
        self._context = context
        self._wake = wake
        self._runner = runner
        self._informer: Informer | None = None
        self._has_looked = not context.settings.kueue
        self._flavors: dict[str, tuple[float, Object]] = {}
        """The specs of ResourceFlavors, each with the time when it was read."""

    async def keep(self) -> None:
        """Watch Workloads as soon as there can be any. Does nothing unless the chart allows it."""
        while self._context.settings.kueue:
            try:
                version = await self._find_version()
            except ApiError as error:
                log.info("cannot tell whether Kueue is installed: %s", error)
                await asyncio.sleep(1)
                continue
            if version is not None:
                log.info("Kueue is installed: its Workloads are watched, version %s", version)
                self._informer = Informer(self._context.api, replace(kinds.WORKLOAD, version=version), trim=trim_workload)
                self._informer.on_change(self._on_change)
                self._has_looked = True
                await together(self._informer.run(), self._wake_waiting(self._informer))
            self._has_looked = True
            await asyncio.sleep(SECONDS)

    async def _wake_waiting(self, informer: Informer) -> None:
        """Look at all jobs in queues once all Workloads are known."""
        await informer.synced.wait()
        for job in self._context.cache.jobs:
            if labels_of(job).get(labels.KUEUE_QUEUE):
                self._wake(job["metadata"]["namespace"], job["metadata"]["name"])

    async def _find_version(self) -> str | None:
        """The version of Kueue's API to speak, the newest that both know; None if it is not installed."""
        found = await self._context.api.list(kinds.CRD, fields=f"metadata.name={kinds.WORKLOAD.plural}.{kinds.WORKLOAD.group}")
        served = {item["name"] for crd in found for item in spec_of(crd).get("versions") or () if item.get("served")}
        return next((version for version in workload.VERSIONS if version in served), None)

    def _on_change(self, change: Change) -> None:
        namespace, name = change.key
        if owner := find_owner(change.latest):
            self._wake(namespace, owner)
        for job in self._context.cache.jobs if not owners_of(change.latest) else ():
            if job["metadata"]["namespace"] == namespace and labels_of(job).get(labels.KUEUE_WORKLOAD) == name:
                self._wake(namespace, job["metadata"]["name"])

    async def take(self, known: JobIdentity) -> Turn:
        """What the job gets with its turn. Raises `Refused` as long as Kueue has not admitted it.

        A job that ran already when its class began to ask Kueue runs on. One that Kueue has admitted cannot leave its queue.
        """
        job, mode = self._context.cache.jobs.get(known.name, known.namespace), known.policy.queue.kueue
        queue, is_counted = labels_of(job).get(labels.KUEUE_QUEUE), "assigned" in status_of(job)
        if job is None or mode == "Ignore" or not (queue or is_counted):
            return _pass(known, job, queue)
        if not wants_to_run(job) if not holds_place(job) else not is_counted:
            return Turn()
        informer = self._find_informer(known)
        try:
            found = await self._ensure(known, job, informer) if queue else informer.get(workload.find_name(job), known.namespace)
        except (Forbidden, Invalid) as error:
            message = f"its Workload is refused: {error.message}"
            raise Refused(conditions.QUEUED, message, retry_seconds=SECONDS, queue={"since": timestamp()}) from error
        if not workload.is_admitted(found):
            since = (status_of(job).get("queue") or {}).get("since") or timestamp()
            raise Refused(conditions.QUEUED, workload.explain(found, queue), queue={"since": since})
        return await self._read_turn(known, found or {}, informer.kind)

    def _find_informer(self, known: JobIdentity) -> Informer:
        """Raises `Refused` if Kueue is not there, and `RetryLater` if nobody has looked yet."""
        if not self._has_looked or (self._informer is not None and not self._informer.synced.is_set()):
            raise RetryLater(0.5, "Kueue's Workloads are not known yet")
        if self._informer is None:
            allowed = "is not installed" if self._context.settings.kueue else "is not enabled in the chart's values"
            message = f"class '{known.spec.class_name}' has Kueue decide when the job starts, but Kueue {allowed}"
            raise Refused(conditions.KUEUE_UNAVAILABLE, message, retry_seconds=SECONDS)
        return self._informer

    async def _ensure(self, known: JobIdentity, job: Object, informer: Informer) -> Object | None:
        """The job's Workload, as far as it is known; made or changed where that is due. None: there is none yet."""
        name = workload.find_name(job)
        found = informer.get(name, known.namespace)
        if is_terminating(found):
            return None
        if labels_of(job).get(labels.KUEUE_WORKLOAD):
            return await self._adopt(job, found, informer.kind, name)
        if workload.has(found, workload.FINISHED):
            await self._delete(found or {}, informer.kind)
            return None
        wanted = workload.build_workload(
            job, informer.kind.api_version, self._build_pod_sets(known), await self._find_priority(job, informer.kind)
        )
        if found is None or workload.differs(found, wanted):
            await self._context.api.apply(informer.kind, wanted)
        return found

    async def _adopt(self, job: Object, found: Object | None, kind: Kind, name: str) -> Object | None:
        """A Workload that was made beforehand: it becomes the job's own, so that it goes with it."""
        if found is None:
            return None
        owner, mine = find_owner(found), workload.refer(job)
        if owners_of(found) and not any(item["uid"] == mine["uid"] for item in owners_of(found)):
            what = f"NestedAppJob '{owner}'" if owner else "another object"
            message = f"Workload '{name}', which the label `{labels.KUEUE_WORKLOAD}` names, belongs to {what}"
            raise Refused(conditions.WORKLOAD_CONFLICT, message)
        if not owners_of(found):
            meta = found["metadata"]
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "ownerReferences": [mine]}}
            await self._context.api.patch(kind, name, meta["namespace"], patch)
        return found

    def _build_pod_sets(self, known: JobIdentity) -> list[Object]:
        context, spec = (
            self._context,
            NestedClusterSpec(class_name=known.spec.class_name),
        )  # no version asks for more than another
        shape = shared.build_shape(spec, known.home, known.policy, host=context.host, nestor_image=context.settings.image)
        return pod_sets.build_pod_sets(known.policy, known.spec, shared.list_containers(shape), self._runner)

    async def _find_priority(self, job: Object, kind: Kind) -> workload.Priority | None:
        name = labels_of(job).get(labels.KUEUE_PRIORITY)
        if not name:
            return None
        found = await self._context.api.find(replace(kinds.WORKLOAD_PRIORITY, version=kind.version), name)
        if found is None:
            message = f"no WorkloadPriorityClass named '{name}', as the label `{labels.KUEUE_PRIORITY}` says"
            raise Refused(conditions.PRIORITY_NOT_FOUND, message, retry_seconds=SECONDS)
        return workload.Priority(name, int(found["value"]))

    async def _read_turn(self, known: JobIdentity, found: Object, kind: Kind) -> Turn:
        sets = (pod_sets.APP, pod_sets.SERVER, pod_sets.RUNNER)
        names = {name for pod_set in sets for name in workload.list_flavors(found, pod_set)}
        flavors = {name: await self._read_flavor(name, kind) for name in names}
        app, server, runner = (workload.find_nodes(found, pod_set, flavors) for pod_set in sets)
        uncounted = pod_sets.list_uncounted(known.policy, known.spec)
        warnings = [
            f"Kueue does not count the application's {resource}: neither the class nor its machine has a quota for "
            f"`requests.{resource}` or `limits.{resource}`"
            for resource in uncounted
        ]
        counted = tuple(pod_sets.find_counted(known.policy, known.spec.machine).values())
        assigned = Assigned(workload=found["metadata"]["name"], **vars(app))
        return Turn(assigned, server, runner, counted, tuple(warnings))

    async def _read_flavor(self, name: str, kind: Kind) -> Object:
        """The spec of a ResourceFlavor. It is read again from time to time."""
        at, spec = self._flavors.get(name, (0.0, {}))
        if not at or time.monotonic() - at > RESYNC_SECONDS:
            found = await self._context.api.get(replace(kinds.RESOURCE_FLAVOR, version=kind.version), name)
            spec = spec_of(found)
            self._flavors[name] = (time.monotonic(), spec)
        return spec

    async def follow(self, job: Object) -> None:
        """After a pass: tell Kueue what became of the job."""
        informer, meta = self._informer, job["metadata"]
        job = self._context.cache.jobs.get(meta["name"], meta["namespace"]) or job
        found = informer.get(workload.find_name(job), meta["namespace"]) if informer is not None else None
        if informer is None or found is None or is_terminating(found) or find_owner(found) != meta["name"]:
            return
        try:
            await self._answer(job, found, informer.kind)
        except (Conflict, NotFound) as error:  # it has changed, and is seen again
            log.debug("%s/%s: %s", meta["namespace"], meta["name"], error)

    async def _answer(self, job: Object, found: Object, kind: Kind) -> None:
        meta, is_quiet = found["metadata"], self._is_quiet(job)
        if spec_of(job).get("suspend") and is_quiet and not labels_of(job).get(labels.KUEUE_WORKLOAD):
            await self._delete(found, kind)
            return
        if workload.has(found, workload.EVICTED) and workload.has(found, workload.RESERVED):
            if is_quiet:
                patch = workload.build_release(found, timestamp())
                await self._context.api.patch(kind, meta["name"], meta["namespace"], patch, subresource="status")
            return
        is_over = not holds_place(job) and not wants_to_run(job) and not spec_of(job).get("suspend")
        answers = workload.find_answers(found, conditions_of(job), is_over=is_over, time=timestamp())
        if answers:
            body = {"metadata": {key: meta[key] for key in ("name", "namespace", "uid")}, "status": {"conditions": answers}}
            await self._context.api.apply(kind, body, subresource="status")

    def _is_quiet(self, job: Object) -> bool:
        """Whether the job has no pods but those that stay while it is suspended."""
        home = find_home(job)
        if self._context.cache.clusters.get(home.name, home.namespace) is None:
            return True
        return decide_suspend(find_progress(self._context.cache, home), 0).is_reached

    async def _delete(self, found: Object, kind: Kind) -> None:
        meta = found["metadata"]
        await self._context.api.delete(kind, meta["name"], meta["namespace"], uid=meta["uid"])

    async def dispatch(self, job: Object) -> None:
        """Make the Workload of a job that MultiKueue is to send to another cluster, and nothing else of it."""
        if not labels_of(job).get(labels.KUEUE_QUEUE) or spec_of(job).get("managedBy") != labels.MULTIKUEUE:
            return
        if self._informer is None or not self._informer.synced.is_set() or is_terminating(job):
            return
        try:
            known = identify(job, self._context.classes.all(), self._context.classes.default)
            if known.policy.queue.kueue != "Ignore" and not spec_of(job).get("suspend"):
                await self._ensure(known, job, self._informer)
        except Refused as refused:
            log.info("%s/%s: no Workload for MultiKueue: %s", job["metadata"]["namespace"], job["metadata"]["name"], refused)


def _pass(known: JobIdentity, job: Object | None, queue: str | None) -> Turn:
    """For a job that Kueue has no say in. Raises `Refused` if its class starts none of these."""
    mode, name = known.policy.queue.kueue, known.spec.class_name
    if mode == "Require" and job is not None and wants_to_run(job) and not holds_place(job):
        message = f"class '{name}' starts only jobs with the label `{labels.KUEUE_QUEUE}`, which names a LocalQueue"
        raise Refused(conditions.QUEUE_NAME_MISSING, message)
    if queue and mode == "Ignore":
        said = f"the label `{labels.KUEUE_QUEUE}` has no effect: class '{name}' does not set `queue.kueue`"
        return Turn(warnings=(said,))
    return Turn()
