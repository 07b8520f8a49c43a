"""The first status of a job whose turn has not come: whoever asks for it sees that it is known."""

from __future__ import annotations

import logging

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.kube import kinds
from nestor.kube.errors import ApiError
from nestor.objects import Object, conditions_of, is_terminating
from nestor.operator.status.build import build_status
from nestor.operator.status.conditions import summarize
from nestor.operator.world.context import Context
from nestor.operator.world.homes import is_managed_elsewhere
from nestor.times import timestamp

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
