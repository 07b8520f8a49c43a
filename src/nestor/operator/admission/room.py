"""Whether a namespace has room for another job of a class: first come, first served, and who runs is never sent away."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from nestor.api import conditions
from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.objects import Object, conditions_of, status_of
from nestor.operator.admission.identity import JobIdentity, Refused

RETRY_SECONDS = 10.0
"""How soon to look again: no event tells a waiting job that another one has gone."""


class Places:
    """The places that this process has given away and that the jobs' statuses do not show yet: a pass takes a while."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        """UIDs of jobs."""

    def take(self, known: JobIdentity, jobs: Iterable[Object], default: str = FALLBACK) -> None:
        """Give the job a place, or raise as `check_room` does."""
        if known.policy.max_jobs_per_namespace is None:
            return
        jobs = list(jobs)
        self._given &= {job["metadata"]["uid"] for job in jobs}
        check_room(known, jobs, self._given, default)
        self._given.add(known.uid)

    def give_back(self, uid: str) -> None:
        """The job is refused for another reason."""
        self._given.discard(uid)


def check_room(known: JobIdentity, jobs: Iterable[Object], given: Collection[str] = (), default: str = FALLBACK) -> None:
    """Raises `Refused` if the class's `maxJobsPerNamespace` is reached by jobs that came first.

    `jobs`: all there are; `given`: the UIDs of those that have a place, whatever their status says; `default`: the class of jobs
    that name none.
    """
    limit = known.policy.max_jobs_per_namespace
    if limit is None:
        return
    mine, ahead = None, []
    for job in jobs:
        meta = job["metadata"]
        if meta["namespace"] != known.namespace or find_class_name(job, default) != known.class_name:
            continue
        if meta["uid"] == known.uid:
            mine = job
        else:
            ahead.append(job)
    if mine is None or _has_place(mine, given):
        return
    count = sum(_has_place(job, given) or (_is_in_line(job) and _age(job) < _age(mine)) for job in ahead)
    if count >= limit:
        message = _explain(known, limit, count)
        raise Refused(conditions.TOO_MANY_JOBS, message, retry_seconds=RETRY_SECONDS)


def _explain(known: JobIdentity, limit: int, count: int) -> str:
    name = known.class_name
    if limit == 0:
        return f"class '{name}' allows no jobs: its `maxJobsPerNamespace` is 0. Create the job with another class"
    jobs, gone = "1 job" if count == 1 else f"{count} jobs", count - limit + 1
    until = "one of them is deleted" if gone == 1 else f"{gone} of them are deleted"
    return (
        f"namespace '{known.namespace}' has {jobs} of class '{name}', which allows {limit} in a namespace; this one waits until "
        + ("it is deleted" if count == 1 else until)
    )


def _has_place(job: Object, given: Collection[str]) -> bool:
    """Whether it was ever admitted: it may have pods, even if it was refused since."""
    return job["metadata"]["uid"] in given or bool((status_of(job).get("timings") or {}).get("admitted"))


def _is_in_line(job: Object) -> bool:
    """Whether it will be admitted as soon as there is room, as far as anybody knows."""
    admitted = conditions.find(conditions_of(job), conditions.ADMITTED)
    return admitted is None or admitted["status"] != "False" or admitted["reason"] == conditions.TOO_MANY_JOBS


def _age(job: Object) -> tuple[str, str]:
    return job["metadata"].get("creationTimestamp", ""), job["metadata"]["uid"]
