"""The classes' own queues, asked by the passes over jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import Change, kinds
from nestor.kube.serving.pages import Family, Samples
from nestor.operator.admission.identity import Denial, JobIdentity
from nestor.operator.guest import Guest
from nestor.operator.guests.queue.entry import find_since
from nestor.operator.guests.queue.queues import Queues
from nestor.operator.lifecycle.suspend import is_quiet
from nestor.operator.world.context import Context


class Queue(Guest):
    """Holds jobs back until there is room in their class and namespace."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        cache, classes = context.cache, context.classes
        self._queues = Queues(
            cache.jobs,
            classes.all,
            lambda namespace, name: context.wake(kinds.NESTED_APP_JOB, name, namespace),
            lambda: classes.default,
            lambda job: is_quiet(cache, job),
        )
        cache.jobs.on_change(self._note)
        cache.classes.on_change(lambda change: self._queues.note_class(change.latest["metadata"]["name"]))

    def _note(self, change: Change) -> None:
        for job in filter(None, (change.old, change.new)):
            self._queues.note(job)

    async def notice(self, namespace: str, name: str, job: Object | None) -> None:
        """Its pods may have gone, which frees its place."""
        if job is not None:
            self._queues.note(job)
        self._queues.flush()

    async def admit(self, known: JobIdentity) -> Denial | None:
        """For what it has to wait."""
        return self._queues.take(known)

    def deny(self, job: Object, denial: Denial) -> Denial:
        """Have a job that is refused by no queue give its place back. One whose AppDef is being read keeps it for a while."""
        uid = job["metadata"]["uid"]
        if denial.status == "False" and denial.reason not in (*conditions.WAITS, conditions.CLASS_NOT_FOUND):
            self._queues.give_back(uid)
        elif denial.is_stuck:
            self._queues.give_back(uid, is_reading=True)
        elif denial.status == "Unknown" and self._queues.has_place(uid):
            return replace(denial, queue={"since": find_since(job, timestamp())})  # for the next operator
        return denial

    def measure(self) -> Iterable[Family]:
        """How many jobs wait."""
        waiting, classes = self._queues.count_waiting(), self._context.cache.classes
        found: Samples = {(name,): waiting.get(name, 0) for name in (item["metadata"]["name"] for item in classes)}
        yield Family("nestor_class_queue_jobs", "gauge", "Jobs that wait in the queue of their class.", ("class",), found)
