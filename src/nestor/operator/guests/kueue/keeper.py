"""Watches the version of Kueue's API that the host serves, and its Workloads, and lets jobs run or wait as Kueue says."""

import asyncio
import logging
from dataclasses import replace

from nestor.api import conditions, labels
from nestor.api.objects import Object, is_terminating, labels_of, owners_of, spec_of, status_of
from nestor.api.times import timestamp
from nestor.kube import ApiError, Change, Conflict, Forbidden, Informer, Invalid, NotFound, RetryLater, kinds
from nestor.kube.index import Index
from nestor.kube.tasks import together
from nestor.operator.admission.identity import Denial, JobIdentity, Refused, identify
from nestor.operator.admission.turn import Turn
from nestor.operator.guest import Guest
from nestor.operator.guests.kueue import workload
from nestor.operator.guests.kueue.workload import find_owner_name, find_owner_uid, trim_workload
from nestor.operator.guests.kueue.workloads import SECONDS, Workloads
from nestor.operator.lifecycle.record import is_running, wants_to_run
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import is_managed_elsewhere

NAME = f"{kinds.WORKLOAD.plural}.{kinds.WORKLOAD.group}"


def trim_definition(found: Object) -> Object:
    """Its versions: the rest is a schema of many kilobytes."""
    kept = ("name", "uid", "resourceVersion", "deletionTimestamp")
    meta = {key: value for key, value in found["metadata"].items() if key in kept}
    versions = [{key: item.get(key) for key in ("name", "served")} for item in spec_of(found).get("versions") or ()]
    return {"metadata": meta, "spec": {"versions": versions}}


def find_version(definition: Object | None) -> str | None:
    """The version to speak, the newest that both know; None if there is none, or will soon be none."""
    served = {item["name"] for item in spec_of(definition).get("versions") or () if item.get("served")}
    return None if is_terminating(definition) else next((version for version in workload.VERSIONS if version in served), None)


log = logging.getLogger(__name__)

_GONE = (404, 405)
"""Answers to writes of a kind whose definition is gone, or going."""


class Kueue(Guest):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._workloads = Workloads(context)
        self._informer: Informer | None = None
        self._owned: Index[str] | None = None
        """Workloads by the UIDs of the jobs that own them."""
        self._has_looked = not context.settings.kueue

    async def run(self) -> None:
        """Watch Workloads as long as there can be any. Does nothing unless the chart allows it."""
        if self._context.settings.kueue:
            definition = Informer(self._context.api, kinds.CRD, fields=f"metadata.name={NAME}", trim=trim_definition)
            await together(definition.run(), self._follow(definition))

    async def _follow(self, definition: Informer) -> None:
        """Use each version that there is, or none, until there is another."""
        changed = asyncio.Event()
        definition.on_change(lambda _: changed.set())
        await definition.synced.wait()
        while True:
            version = find_version(definition.get(NAME))
            async with asyncio.TaskGroup() as group:
                using = group.create_task(self._use(version))
                while find_version(definition.get(NAME)) == version:
                    changed.clear()
                    await changed.wait()
                using.cancel()

    async def _use(self, version: str | None) -> None:
        self._informer = self._owned = None
        self.informers, self._has_looked = (), True
        if version is None:
            return
        log.info("Kueue is installed: its Workloads are watched, version %s", version)
        informer = Informer(self._context.api, replace(kinds.WORKLOAD, version=version), trim=trim_workload)
        self.watch(informer)
        await together(informer.run(), self._wake_sent(informer))

    def watch(self, informer: Informer) -> None:
        self._informer, self._owned, self.informers = informer, Index(informer, find_owner_uid), (informer,)
        informer.on_change(self._on_change)

    async def _wake_sent(self, informer: Informer) -> None:
        """Look at jobs that MultiKueue is to send once all Workloads are known: nothing else looks at them again."""
        await informer.synced.wait()
        for job in self._context.cache.jobs:
            if is_managed_elsewhere(job):
                self._context.wake(kinds.NESTED_APP_JOB, job["metadata"]["name"], job["metadata"]["namespace"])

    def _on_change(self, change: Change) -> None:
        namespace, name = change.key
        if owner := find_owner_name(change.latest):
            self._context.wake(kinds.NESTED_APP_JOB, owner, namespace)
        for job in self._context.cache.jobs if not owners_of(change.latest) else ():
            if job["metadata"]["namespace"] == namespace and labels_of(job).get(labels.KUEUE_WORKLOAD) == name:
                self._context.wake(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace)

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        """Of a job that MultiKueue is to send to another cluster, its Workload is made, and nothing else."""
        if job is None or spec_of(job).get("managedBy") != labels.MULTIKUEUE or not labels_of(job).get(labels.KUEUE_QUEUE):
            return
        if self._informer is None or not self._informer.synced.is_set() or is_terminating(job):
            return
        try:
            known = identify(job, self._context.classes.all(), self._context.classes.default)
            if known.policy.queue.kueue != "Ignore" and not known.spec.suspend:
                await self._workloads.ensure(known, job, self._informer)
        except Refused as refused:
            log.info("%s/%s: no Workload for MultiKueue: %s", namespace, name, refused)

    async def admit(self, known: JobIdentity) -> Turn | Denial:
        """What the job gets with its turn, or that Kueue has not admitted it. Raises `Refused`.

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
                return await self._workloads.read_turn(known, found or {}, informer.kind)
        except ApiError as error:
            raise _explain(error, known, job) from error
        since = (status_of(job).get("queue") or {}).get("since") or timestamp()
        return Denial(conditions.QUEUED, workload.explain(found, queue), queue={"since": since})

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
        return await self._workloads.ensure(known, job, informer) if labels_of(job).get(labels.KUEUE_QUEUE) else None

    async def follow(self, job: Object) -> None:
        informer, meta = self._informer, job["metadata"]
        if informer is None or self._owned is None:
            return
        job = self._context.cache.jobs.get(meta["name"], meta["namespace"]) or job
        for found in self._owned.all(job["metadata"]["uid"]):
            if is_terminating(found):
                continue
            try:
                await self._workloads.answer(job, found, informer.kind)
            except (Conflict, NotFound) as error:  # it has changed, and is seen again
                log.debug("%s/%s: %s", meta["namespace"], meta["name"], error)


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
