"""More time for a job: what puts off its end, or its deletion after that."""

from nestor.api.class_choice import read_effective
from nestor.api.objects import Object, spec_of, status_of
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.view import times
from nestor.kube import Api, Forbidden, kinds

STOP, KEEP = "activeDeadlineSeconds", "ttlSecondsAfterFinished"
LONGEST = 315_360_000
"""Seconds that the API takes for a deadline."""


async def find_extension(api: Api, job: Object, field: str, seconds: int) -> tuple[Object, bool]:
    """What its spec gets to have one of its ends so much later, as far as its class allows, and whether that is the most.

    Raises `Failure` if it has no such end or is at the most already.
    """
    most = await _find_most(api, job) if field == STOP else None
    limit = LONGEST if most is None else most
    now = spec_of(job).get(field) if field in (STOP, KEEP) else None
    if now is None:
        raise Failure(f"there is nothing to extend: the job does not set `{field}`", Code.USAGE)
    if limit <= int(now):
        raise Failure(f"the job's class lets it run for {times.short(limit)} at most", Code.USAGE)
    value = min(limit, int(now) + seconds)
    return {field: value}, value == most


async def _find_most(api: Api, job: Object) -> int | None:
    """For how long the job's class lets jobs run, in seconds. None: for ever, or the user may not see it."""
    name = status_of(job).get("className")
    if not name:
        return None
    try:
        found = await api.find(kinds.NESTED_CLASS, name)
    except Forbidden:
        return None
    most: int | None = read_effective(found).get("maxActiveDeadlineSeconds")
    return most
