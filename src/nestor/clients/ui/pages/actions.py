"""What a user does with a job: suspend, resume, run again, put off its end, delete."""

from aiohttp import web

from nestor.api.objects import Object
from nestor.api.times import now
from nestor.clients.cli import limits, manifests
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.view.facts import is_over
from nestor.clients.ui import frame
from nestor.clients.ui.models import actions, launch
from nestor.clients.ui.models.jobs import job_path
from nestor.clients.ui.visitor import Visitor
from nestor.kube import kinds


async def _patch(visitor: Visitor, job: Object, patch: Object) -> None:
    """Only this very job, not one of the same name that came after it."""
    meta = job["metadata"]
    body = {**patch, "metadata": {**patch.get("metadata", {}), "uid": meta["uid"]}}
    await visitor.api.patch(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], body, strict=True)


def _back(job: Object, said: str) -> web.HTTPSeeOther:
    meta = job["metadata"]
    return web.HTTPSeeOther(f"{job_path(meta['namespace'], meta['name'])}?said={said}")


async def set_suspend(request: web.Request, *, wanted: bool) -> web.Response:
    visitor, job = await frame.get_job(request)
    if is_over(job):
        raise Failure("the job has already ended", Code.FAILED)
    await _patch(visitor, job, manifests.build_suspend(job, wanted=wanted))
    raise _back(job, "suspended" if wanted else "resumed")


async def rerun(request: web.Request) -> web.Response:
    """`POST …/rerun`. If that deletes the data of the run before, the user has seen so and says `agreed`."""
    visitor, job = await frame.get_job(request)
    if is_over(job) and (await request.post()).get("agreed") != "yes":
        raise web.HTTPSeeOther(job_path(job["metadata"]["namespace"], job["metadata"]["name"], "rerun"))
    await _patch(visitor, job, manifests.build_rerun(now()))
    raise _back(job, "rerun")


async def ask(request: web.Request, what: str) -> web.Response:
    """Whether the user means it: `rerun`, which may delete data, or `delete`."""
    visitor, job = await frame.get_job(request)
    meta = job["metadata"]
    path = job_path(meta["namespace"], meta["name"])
    return frame.render(
        "ask.html", visitor, what=what, name=meta["name"], uid=meta["uid"], path=path, actions=actions.list_actions(job)
    )


async def extend(request: web.Request) -> web.Response:
    """`POST …/extend`: `field` of its spec, `by` so many of `unit`."""
    visitor, job = await frame.get_job(request)
    posted = await request.post()
    seconds = launch.read_seconds(str(posted.get("by", "")), str(posted.get("unit", "")))
    if seconds is None:
        raise Failure("that is no length of time", Code.USAGE)
    is_most = await add_time(visitor, job, str(posted.get("field", "")), seconds)
    raise _back(job, "most" if is_most else "extended")


async def add_time(visitor: Visitor, job: Object, field: str, seconds: int) -> bool:
    """Have one of its ends so much later, as far as its class allows; whether that is the most. Raises `Failure`."""
    spec, is_most = await limits.find_extension(visitor.api, job, field, seconds)
    await _patch(visitor, job, {"spec": spec})
    return is_most


async def delete(request: web.Request) -> web.Response:
    """`POST …/delete`, after the user was asked about the job with that `uid`."""
    visitor, job = await frame.get_job(request)
    meta = job["metadata"]
    if (await request.post()).get("uid") != meta["uid"]:
        raise web.HTTPSeeOther(job_path(meta["namespace"], meta["name"], "delete"))
    await visitor.api.delete(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], uid=meta["uid"])
    raise web.HTTPSeeOther(f"/jobs?namespace={meta['namespace']}")
