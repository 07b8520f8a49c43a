"""Keeps the Workloads of jobs: makes them, waits for Kueue's word, and tells it what became of the jobs."""

from __future__ import annotations

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
from nestor.kube.index import Index
from nestor.kube.tasks import together
from nestor.objects import Object, conditions_of, is_terminating, labels_of, owners_of, spec_of, status_of
from nestor.operator.admission.identity import JobIdentity, Refused, identify
from nestor.operator.admission.turn import Turn
from nestor.operator.kueue import pod_sets, workload
from nestor.operator.kueue.installed import Installed
from nestor.operator.kueue.trim import find_owner, find_owner_uid, trim_workload
from nestor.operator.lifecycle import suspend
from nestor.operator.queueing.entry import is_running, wants_to_run
from nestor.operator.world.context import Context
from nestor.operator.world.homes import is_managed_elsewhere
from nestor.times import timestamp

log = logging.getLogger(__name__)

SECONDS = 10.0
"""How soon to try again what somebody has to mend."""
_GONE = (404, 405)
"""Answers to writes of a kind whose definition is gone, or going."""


class Kueue:
    """`wake` is called with namespace and name of each job that should be looked at again. `runner`: the runner's resources."""

    def __init__(self, context: Context, wake: Callable[[str, str], None], runner: Object) -> None:
        self._context = context
        self._wake = wake
        self._runner = runner
        self._informer: Informer | None = None
        self._owned: Index[str] | None = None
        """Workloads by the UIDs of the jobs that own them."""
        self._has_looked = not context.settings.kueue
        self._flavors: dict[str, tuple[float, Object]] = {}
        """The specs of ResourceFlavors, each with the time when it was read."""

    async def keep(self) -> None:
        """Watch Workloads as long as there can be any. Does nothing unless the chart allows it."""
        if self._context.settings.kueue:
            await Installed(self._context.api, self._use).keep()

    async def _use(self, version: str | None) -> None:
        """Watch the Workloads of that version."""
        self._informer = self._owned = None
        self._has_looked = True
        if version is None:
            return
        log.info("Kueue is installed: its Workloads are watched, version %s", version)
        informer = Informer(self._context.api, replace(kinds.WORKLOAD, version=version), trim=trim_workload)
        self.watch(informer)
        await together(informer.run(), self._wake_waiting(informer))

    def watch(self, informer: Informer) -> None:
        """Use the Workloads that it knows."""
        self._informer, self._owned = informer, Index(informer, find_owner_uid)
        informer.on_change(self._on_change)

    async def _wake_waiting(self, informer: Informer) -> None:
        """Look at all jobs in queues once all Workloads are known."""
        await informer.synced.wait()
        for job in self._context.cache.jobs:
            if labels_of(job).get(labels.KUEUE_QUEUE) or "assigned" in status_of(job):
                self._wake(job["metadata"]["namespace"], job["metadata"]["name"])

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
        is_free = not is_counted if is_running(job) else not wants_to_run(job)
        if is_free:
            return Turn()
        informer = self._find_informer(known)
        try:
            found = await self._find(known, job, informer)
            if workload.is_admitted(found):
                return await self._read_turn(known, found or {}, informer.kind)
        except ApiError as error:
            raise _explain(error, known, job) from error
        since = (status_of(job).get("queue") or {}).get("since") or timestamp()
        raise Refused(conditions.QUEUED, workload.explain(found, queue), queue={"since": since})

    def _find_informer(self, known: JobIdentity) -> Informer:
        """Raises `Refused` if Kueue is not there, and `RetryLater` if nobody has looked yet."""
        if not self._has_looked or (self._informer is not None and not self._informer.synced.is_set()):
            raise RetryLater(0.5, "Kueue's Workloads are not known yet")
        if self._informer is None:
            allowed = "is not installed" if self._context.settings.kueue else "is not enabled in the chart's values"
            message = f"class '{known.class_name}' has Kueue decide when the job starts, but Kueue {allowed}"
            raise Refused(conditions.KUEUE_UNAVAILABLE, message, retry_seconds=SECONDS)
        return self._informer

    async def _find(self, known: JobIdentity, job: Object, informer: Informer) -> Object | None:
        """The Workload by which the job runs, whatever its labels say now, or else may run. None: there is none yet."""
        if is_running(job) and (name := (status_of(job).get("assigned") or {}).get("workload")):
            found = informer.get(name, known.namespace)
            if found is not None and workload.is_own(found, job) and not workload.is_left(found):
                return found
        return await self._ensure(known, job, informer) if labels_of(job).get(labels.KUEUE_QUEUE) else None

    async def _ensure(self, known: JobIdentity, job: Object, informer: Informer) -> Object | None:
        """The job's Workload, as far as it is known; made or changed where that is due. None: there is none yet."""
        found, wanted = informer.get(workload.find_name(job), known.namespace), self._build_pod_sets(known)
        if is_terminating(found):
            return None
        if workload.is_prebuilt(job):
            return await self._adopt(job, found, informer.kind, wanted)
        found = found if workload.is_own(found, job) else None
        if found is not None and workload.has(found, workload.FINISHED):
            await self._delete(found, informer.kind)
            return None
        if found is not None and workload.has(found, workload.RESERVED):
            return await self._check(job, found, informer.kind, wanted)
        body = workload.build_workload(job, informer.kind.api_version, wanted, await self._find_priority(job, informer.kind))
        if found is None or workload.differs(found, body):
            await self._context.api.apply(informer.kind, body)
        return found

    async def _check(self, job: Object, found: Object, kind: Kind, wanted: list[Object]) -> Object | None:
        """The Workload, if it still is what the job needs. What Kueue has reserved quota for cannot be changed: a job that needs
        something else before it runs comes anew.
        """
        if workload.has(found, workload.EVICTED) or pod_sets.are_same(workload.list_sets(found), wanted):
            return found
        if self._is_quiet(job):
            await self._delete(found, kind)
        return None

    async def _adopt(self, job: Object, found: Object | None, kind: Kind, wanted: list[Object]) -> Object | None:
        """A Workload that was made beforehand: it becomes the job's own, so that it goes with it."""
        if found is None:
            return None
        name, owner = found["metadata"]["name"], find_owner(found)
        said = f"Workload '{name}', which the label `{labels.KUEUE_WORKLOAD}` names,"
        if owners_of(found) and not workload.is_own(found, job):
            what = f"NestedAppJob '{owner}'" if owner else "another object"
            raise Refused(conditions.WORKLOAD_CONFLICT, f"{said} belongs to {what}")
        if not pod_sets.are_enough(workload.list_sets(found), wanted):
            raise Refused(conditions.WORKLOAD_CONFLICT, f"{said} asks for less than the job may use")
        if not owners_of(found):
            meta = found["metadata"]
            patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "ownerReferences": [workload.refer(job)]}}
            await self._context.api.patch(kind, name, meta["namespace"], patch)
            return None
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
        granted = pod_sets.find_granted(known.policy, known.spec.machine, workload.list_sets(found))
        assigned = Assigned(workload=found["metadata"]["name"], **vars(app))
        return Turn(assigned, server, runner, granted, tuple(warnings))

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
        if informer is None or self._owned is None:
            return
        job = self._context.cache.jobs.get(meta["name"], meta["namespace"]) or job
        for found in self._owned.all(job["metadata"]["uid"]):
            if is_terminating(found):
                continue
            try:
                await self._answer(job, found, informer.kind)
            except (Conflict, NotFound) as error:  # it has changed, and is seen again
                log.debug("%s/%s: %s", meta["namespace"], meta["name"], error)

    async def _answer(self, job: Object, found: Object, kind: Kind) -> None:
        meta, is_quiet = found["metadata"], self._is_quiet(job)
        if not self._is_asked(job, found):
            if is_quiet or is_running(job):
                await self._delete(found, kind)
                return
        elif spec_of(job).get("suspend") and is_quiet and not workload.is_prebuilt(job):
            await self._delete(found, kind)
            return
        if workload.has(found, workload.EVICTED) and workload.has(found, workload.RESERVED):
            if is_quiet:
                patch = workload.build_release(found, timestamp())
                await self._context.api.patch(kind, meta["name"], meta["namespace"], patch, subresource="status")
            return
        is_over = is_quiet and not is_running(job) and not wants_to_run(job) and not spec_of(job).get("suspend")
        answers = workload.find_answers(found, conditions_of(job), is_over=is_over, time=timestamp())
        if answers:
            body = {"metadata": {key: meta[key] for key in ("name", "namespace", "uid")}, "status": {"conditions": answers}}
            await self._context.api.apply(kind, body, subresource="status")

    def _is_asked(self, job: Object, found: Object) -> bool:
        """Whether the job runs by this Workload, or waits for it."""
        policy, assigned = self._context.classes.of(job), status_of(job).get("assigned")
        if policy is None or is_managed_elsewhere(job):
            return True
        if policy.queue.kueue == "Ignore" or not (assigned or labels_of(job).get(labels.KUEUE_QUEUE)):
            return False
        used = assigned["workload"] if assigned and is_running(job) else workload.find_name(job)
        return bool(found["metadata"]["name"] == used)

    def _is_quiet(self, job: Object) -> bool:
        return suspend.is_quiet(self._context.cache, job)

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


def _explain(error: ApiError, known: JobIdentity, job: Object) -> Exception:
    """What it means for the job that the API server refuses something of Kueue's: what runs goes on."""
    if error.status in _GONE:
        message = f"class '{known.class_name}' has Kueue decide when the job starts, but: {error.message}"
        return Refused(conditions.KUEUE_UNAVAILABLE, message, retry_seconds=SECONDS)
    if isinstance(error, Forbidden | Invalid):
        message, queue = f"its Workload is refused: {error.message}", status_of(job).get("queue")
        return Refused(conditions.PROVISIONING_FAILED, message, retry_seconds=SECONDS, queue=queue)
    return error


def _pass(known: JobIdentity, job: Object | None, queue: str | None) -> Turn:
    """For a job that Kueue has no say in. Raises `Refused` if its class starts none of these."""
    mode, name = known.policy.queue.kueue, known.spec.class_name
    if mode == "Require" and job is not None and wants_to_run(job) and not is_running(job):
        message = f"class '{name}' starts only jobs with the label `{labels.KUEUE_QUEUE}`, which names a LocalQueue"
        raise Refused(conditions.QUEUE_NAME_MISSING, message)
    if queue and mode == "Ignore":
        said = f"the label `{labels.KUEUE_QUEUE}` has no effect: class '{name}' does not set `queue.kueue`"
        return Turn(warnings=(said,))
    return Turn()
