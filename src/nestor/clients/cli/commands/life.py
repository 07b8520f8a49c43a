"""`nestor suspend | resume | extend | rerun | delete`: a job's life, changed by its user."""

import asyncio
import contextlib
from typing import Annotated

import typer

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import console, follow, limits, manifests, options, session
from nestor.clients.cli.commands.status import follow_to_end
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import condition, is_over, rests
from nestor.kube import kinds


@options.acting
async def suspend(place: Place, names: options.JobNames) -> int:
    """Suspend jobs: their pods are stopped, their clusters' data is kept, unless their class limits that."""
    return await _set_suspend(place, names, wanted=True)


@options.acting
async def resume(place: Place, names: options.JobNames) -> int:
    """Resume suspended jobs, and wake those that are asleep."""
    return await _set_suspend(place, names, wanted=False)


async def _set_suspend(place: Place, names: list[str], *, wanted: bool) -> int:
    async with session.opened(place) as opened:
        return await session.do_each(names, lambda name: _set_suspend_of(opened, name, wanted=wanted))


async def _set_suspend_of(opened: Session, name: str, *, wanted: bool) -> None:
    word, job = "suspended" if wanted else "resumed", await opened.get_job(name)
    if is_over(job):
        ended = condition(job, conditions.SUCCEEDED) or {}
        raise Failure(f"job '{name}' has already ended ({ended.get('reason')}) and cannot be {word}")
    if job["spec"].get("suspend") if wanted else not rests(job):
        console.tell(f"job '{name}' is {'already' if wanted else 'not'} suspended")
        return
    await opened.api.patch(kinds.NESTED_APP_JOB, name, opened.namespace, manifests.build_suspend(job, wanted=wanted))
    console.tell(f"job '{name}' is being {word}", mark="good")


@options.acting
async def extend(
    place: Place,
    name: options.JobName,
    more: Annotated[
        float, options.argument(metavar="TIME", parser=options.read_seconds, help="How much longer, for example `30m` or `2h`.")
    ],
) -> int:
    """Let a job run longer than its `activeDeadlineSeconds`, as far as its class allows.

    A job that has ended is kept for longer than its `ttlSecondsAfterFinished`.
    """
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        has_ended = bool(status_of(job).get("completionTime"))
        spec, is_most = await limits.find_extension(opened.api, job, limits.KEEP if has_ended else limits.STOP, round(more))
        await opened.api.patch(kinds.NESTED_APP_JOB, name, opened.namespace, {"spec": spec})
    (seconds,) = spec.values()
    what = "is kept for" if has_ended else "may run for"
    most = ", the most that its class allows" if is_most else ""
    console.tell(f"job '{name}' {what} {times.short(seconds)} in all{most}", mark="good")
    return Code.OK


@options.acting
async def rerun(
    place: Place,
    name: options.JobName,
    follow_it: Annotated[bool, typer.Option("--follow", "-f", help="Follow the job until it is ready again.")] = False,
    yes: options.Yes = False,
    timeout: options.Timeout = None,
) -> int:
    """Run all steps of a job again.

    Changes to its ConfigMap, its Secret and its entry of the catalog are taken up. A job that is running or has failed in a step
    keeps its nested cluster and everything in it. A job that has ended in any other way starts over in an empty cluster: its data
    is deleted, including data on a volume. Then this asks first; where there is no terminal, it needs `--yes`.
    """
    async with session.opened(place) as opened:
        if (is_emptied := is_over(await opened.get_job(name))) and not yes:
            lost = f"job '{name}' has ended: running it again deletes its data"
            if not session.can_ask():
                raise Failure(lost, Code.USAGE, hint="add --yes to agree")
            session.confirm(f"{lost}. Continue?")
        job = await opened.api.patch(kinds.NESTED_APP_JOB, name, opened.namespace, manifests.build_rerun(now()))
        rests = " once it is resumed" if job["spec"].get("suspend") else ""
        where = ", in an empty cluster: the data of the previous run is deleted" if is_emptied else ""
        console.tell(f"all steps of job '{name}' will run again{rests}{where}", mark="good")
        if not follow_it or rests:
            return Code.OK
        return await follow_to_end(opened, job, timeout)


@options.acting
async def delete(
    place: Place,
    names: options.JobNames,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Return only when the jobs and everything they created are gone.")
    ] = False,
    yes: options.Yes = False,
    timeout: options.Timeout = None,
) -> int:
    """Delete jobs together with their nested clusters and everything in them.

    On a terminal, this asks first. Elsewhere it does not, as `kubectl delete`.
    """
    async with session.opened(place) as opened:
        jobs = [await opened.get_job(name) for name in names]
        if session.can_ask() and not yes:
            listed = ", ".join(f"'{name}'" for name in names)
            session.confirm(f"delete {listed} in namespace '{opened.namespace}', with all data?")
        for job in jobs:
            await opened.api.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], opened.namespace, uid=job["metadata"]["uid"])
            told = "waiting until it is gone" if wait else ""
            console.tell(f"job '{job['metadata']['name']}' is being deleted{', ' + told if told else ''}", mark="waiting")
        if wait:
            await wait_until_gone(opened, jobs, timeout)
    return Code.OK


async def wait_until_gone(opened: Session, jobs: list[Object], timeout: float | None) -> None:
    """Wait until deleted jobs are gone. Raises `Forbidden`, and on time-out `Failure` with what they are waiting for."""
    left = {job["metadata"]["uid"]: job for job in jobs}
    watching = session.watch(opened.api, kinds.NESTED_APP_JOB, opened.namespace)
    try:
        async with asyncio.timeout(timeout), contextlib.aclosing(watching):
            async for found in watching:
                there = {item["metadata"]["uid"]: item for item in found}
                for uid in [uid for uid in left if uid not in there]:
                    console.tell(f"job '{left.pop(uid)['metadata']['name']}' is gone", mark="good")
                if not left:
                    return
                left |= {uid: there[uid] for uid in left}
    except TimeoutError:
        waiting = "; ".join(f"'{job['metadata']['name']}': {follow.describe_delay(job)}" for job in left.values())
        raise Failure(f"timed out waiting for the deletion: {waiting}", Code.TIMED_OUT, hint="the deletion continues") from None
