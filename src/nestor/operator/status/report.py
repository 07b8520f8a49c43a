"""Writes a job's status, once per pass and only when it changed; then tells of what changed by events."""

from __future__ import annotations

from nestor.kube import kinds
from nestor.objects import Object, status_of
from nestor.operator.status.build import Event, list_events
from nestor.operator.world.context import Context


class Reporter:
    """The one writer of jobs' statuses, deletion aside."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def report(self, job: Object, status: Object) -> None:
        """Write the status, then post the events that tell of the difference."""
        old = status_of(job)
        if status == old:
            return
        meta = job["metadata"]
        body = {"metadata": {key: meta[key] for key in ("name", "namespace", "uid")}, "status": status}
        written = await self._context.api.apply(kinds.NESTED_APP_JOB, body, subresource="status")
        self._context.world.jobs.put(written)
        for event in list_events(old, status):
            await self.post(job, event)

    async def post(self, job: Object, event: Event) -> None:
        """One event about the job."""
        about = {**job, "apiVersion": kinds.NESTED_APP_JOB.api_version, "kind": kinds.NESTED_APP_JOB.name}
        await self._context.events.post(about, event.kind, event.reason, event.message)
