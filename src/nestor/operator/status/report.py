"""Writes a job's status, once per pass and only when it changed; then tells of what changed by events."""

from __future__ import annotations

from nestor.kube import kinds
from nestor.objects import Object, status_of
from nestor.operator.status.build import Event, list_events
from nestor.operator.world.context import Context


async def report(context: Context, job: Object, status: Object) -> None:
    """Write the status, then post the events that tell of the difference. The one writer, deletion included."""
    old = status_of(job)
    if status == old:
        return
    await write_status(context, job, status)
    for event in list_events(old, status):
        await post(context, job, event)


async def write_status(context: Context, job: Object, status: Object) -> None:
    """The whole status, by server-side apply; only of this very job, not of a successor of its name."""
    body = {"metadata": {key: job["metadata"][key] for key in ("name", "namespace", "uid")}, "status": status}
    context.cache.jobs.put(await context.api.apply(kinds.NESTED_APP_JOB, body, subresource="status"))


async def post(context: Context, job: Object, event: Event) -> None:
    """One event about the job."""
    about = {**job, "apiVersion": kinds.NESTED_APP_JOB.api_version, "kind": kinds.NESTED_APP_JOB.name}
    await context.events.post(about, event.kind, event.reason, event.message)
