"""Writes a job's status: as soon as it is seen, then once per pass if it changed, with notices and events."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.times import timestamp
from nestor.kube import kinds
from nestor.kube.errors import ApiError
from nestor.operator.guest import Guest
from nestor.operator.status.build import Event, build_status, list_events
from nestor.operator.status.conditions import summarize
from nestor.operator.world.context import Context
from nestor.operator.world.homes import is_managed_elsewhere

log = logging.getLogger(__name__)


async def report(context: Context, guests: Sequence[Guest], job: Object, status: Object) -> None:
    """Write the status, then tell others, and post events about the differences."""
    old = status_of(job)
    for guest in guests:
        status = guest.complete(job, status)
    if status != old:
        await write_status(context, job, status)
        context.meters.note_status(job, old, status)
    for guest in guests:
        guest.take(job, status)
    for event in list_events(old, status):
        log.info("%s/%s: %s: %s", job["metadata"]["namespace"], job["metadata"]["name"], event.reason, event.message)
        await post(context, job, event)


async def write_status(context: Context, job: Object, status: Object) -> None:
    """Write the whole status by server-side apply; fails if the job was replaced by another of the same name.

    The namespace's UID stays as it is known now: the status may be made from the job as it was before that was recorded.
    """
    meta = {key: job["metadata"][key] for key in ("name", "namespace", "uid")}
    recorded = status_of(context.cache.jobs.get(meta["name"], meta["namespace"])).get("namespaceUID")
    body = {"metadata": meta, "status": status | ({"namespaceUID": recorded} if recorded else {})}
    context.cache.jobs.put(await context.api.apply(kinds.NESTED_APP_JOB, body, subresource="status"))


async def post(context: Context, job: Object, event: Event) -> None:
    """Post one event about the job."""
    about = {**job, "apiVersion": kinds.NESTED_APP_JOB.api_version, "kind": kinds.NESTED_APP_JOB.name}
    await context.events.post(about, event.kind, event.reason, event.message)


log = logging.getLogger(__name__)


def is_new(job: Object) -> bool:
    """Whether nobody has said anything of it yet."""
    return not (conditions_of(job) or is_terminating(job) or is_managed_elsewhere(job))


async def write_first(context: Context, job: Object) -> None:
    """Say that it waits, unless it has changed: what a pass over it has said must stay. An error is left to that pass."""
    found = [Condition(conditions.ADMITTED, "Unknown", conditions.PENDING, "it is known, and others are worked on before it")]
    meta = {key: job["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
    body = {"metadata": meta, "status": build_status(job, [*found, summarize(found)], timestamp())}
    try:
        context.cache.jobs.put(await context.api.apply(kinds.NESTED_APP_JOB, body, subresource="status"))
    except ApiError as error:
        log.info("%s/%s: no first status: %s", meta["namespace"], meta["name"], error)
