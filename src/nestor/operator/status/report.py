"""Writes a job's status: as soon as it is seen, then once per pass if it changed, with notices and events; and a class's."""

import contextlib
import logging
from collections.abc import Sequence

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.nestedclass import write_effective
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.times import timestamp
from nestor.kube import ApiError, NotFound, kinds
from nestor.operator.guest import Guest
from nestor.operator.status.build import build_status, list_events
from nestor.operator.status.conditions import summarize
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import is_managed_elsewhere

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
        log.info("%s/%s: %s: %s", job["metadata"]["namespace"], job["metadata"]["name"], *event[1:])
        await context.post(kinds.NESTED_APP_JOB, job, *event)


async def write_status(context: Context, job: Object, status: Object) -> None:
    """Write the whole status by server-side apply; fails if the job was replaced by another of the same name.

    The namespace's UID stays as it is known now: the status may be made from the job as it was before that was recorded.
    """
    meta = job["metadata"]
    recorded = status_of(context.cache.jobs.get(meta["name"], meta["namespace"])).get("namespaceUID")
    await context.apply_status(kinds.NESTED_APP_JOB, job, status | ({"namespaceUID": recorded} if recorded else {}))


def is_new(job: Object) -> bool:
    """Whether nobody has said anything of it yet."""
    return not (conditions_of(job) or is_terminating(job) or is_managed_elsewhere(job))


async def write_first(context: Context, job: Object) -> None:
    """Say that it waits, unless it has changed: what a pass over it has said must stay. An error is left to that pass."""
    found = [Condition(conditions.ADMITTED, "Unknown", conditions.PENDING, "it is known, and others are worked on before it")]
    status, meta = build_status(job, [*found, *summarize(found)], timestamp()), job["metadata"]
    try:
        await context.apply_status(kinds.NESTED_APP_JOB, job, status, is_unchanged=True)
    except ApiError as error:
        log.info("%s/%s: no first status: %s", meta["namespace"], meta["name"], error)


async def reconcile_class(context: Context, guests: Sequence[Guest], name: str) -> None:
    item, policy = context.cache.classes.get(name), context.classes.all().get(name)
    if item is None or is_terminating(item) or policy is None:
        return
    generation = item["metadata"].get("generation", 0)
    said = [found for guest in guests if (found := guest.judge(item, policy)) is not None]
    merged = conditions.merge(conditions_of(item), said, generation, timestamp())
    status: Object = {"observedGeneration": generation, "effective": write_effective(policy)} | (
        {"conditions": merged} if merged else {}
    )
    if status != {key: value for key, value in status_of(item).items() if key != "pool"}:  # written by its keeper alone
        with contextlib.suppress(NotFound):
            await context.apply_status(kinds.NESTED_CLASS, item, status)
