"""The output of a job's steps and pods, and more of it as it comes."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from nestor.api import labels, names
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.clients.cli import loglines
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.loglines import Wanted
from nestor.clients.ui import frame, words
from nestor.clients.ui.models import progress
from nestor.clients.ui.models.jobs import job_path
from nestor.clients.ui.visitor import Visitor
from nestor.kube import ApiError, Forbidden, NotFound, kinds

TAIL = 2000
"""Lines that are shown of what was said before."""
STEPS = "steps"


async def show(request: web.Request) -> web.Response:
    """`GET …/logs/steps?step=…` or `…/logs/POD?container=…`: the page, which then asks for the lines."""
    visitor, job = await frame.get_job(request)
    name, part = job["metadata"]["name"], request.match_info["part"]
    containers = [] if part == STEPS else await _list_containers(visitor, job, part)
    chosen = request.query.get("container" if containers else "step", "")
    return frame.render(
        "logs.html",
        visitor,
        name=name,
        path=job_path(job["metadata"]["namespace"], name),
        part=part,
        source=f"{request.path}/lines?{request.query_string}",
        choices=containers or [step["name"] for step in status_of(job).get("steps") or ()],
        key="container" if containers else "step",
        chosen=chosen or (containers[-1] if containers else ""),
    )


async def _list_containers(visitor: Visitor, job: Object, pod: str) -> list[str]:
    found = await _get_pod(visitor, job, pod)
    return [item["name"] for key in ("initContainers", "containers") for item in spec_of(found).get(key) or ()]


async def _get_pod(visitor: Visitor, job: Object, pod: str) -> Object:
    """A pod of this job, and of no other. Raises `ApiError`."""
    home, name = status_of(job).get("namespace"), job["metadata"]["name"]
    found = await visitor.api.get(kinds.POD, pod, home) if home else None
    if found is None or labels_of(found).get(labels.CLUSTER) != names.cluster_name(name, str(home)):
        raise NotFound(404, "NotFound", f"job '{name}' has no pod '{pod}'", {"name": pod})
    return found


async def lines(request: web.Request) -> web.StreamResponse:
    """`GET …/lines`: text that goes on as long as there is more; with `follow=no`, what there is."""
    visitor, job = await frame.get_job(request)
    part = request.match_info["part"]
    step = request.query.get("step") or None
    found = _read(visitor, job, part, request.query.get("container") or None, step, follow=request.query.get("follow") != "no")
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8", "X-Accel-Buffering": "no"})
    async with frame.streaming(request, response, visitor), aclosing(found):
        try:
            first = await anext(found, None)  # Errors come before the answer's head is sent.
        except (Forbidden, NotFound) as error:
            if part != STEPS or not (kept := _list_kept(job, step)):
                raise
            why = words.tell(error, is_shared=visitor.is_shared)
            return web.Response(text="\n".join([*kept, "", f"This is all that the job itself keeps. {why.message} {why.hint}\n"]))
        await frame.begin(request, response)
        try:
            if first is not None:
                await response.write(first.encode() + b"\n")
            async for line in found:
                await response.write(line.encode() + b"\n")
        except ApiError as error:
            await response.write(f"\n{words.tell(error, is_shared=visitor.is_shared).message}\n".encode())
    return response


def _list_kept(job: Object, step: str | None) -> list[str]:
    """The last lines of steps that failed, which are in the job's status."""
    shown = [item for item in progress.list_steps(job) if step in (None, item.name)]
    return [f"[{item.name}] {line}" for item in shown for line in item.output.splitlines()]


async def _read(
    visitor: Visitor, job: Object, part: str, container: str | None, step: str | None, *, follow: bool
) -> AsyncGenerator[str, None]:
    home, name = str(status_of(job).get("namespace") or ""), job["metadata"]["name"]
    if part != STEPS:
        await _get_pod(visitor, job, part)
    elif not home:
        raise Failure("no step has run yet", Code.NOT_FOUND)
    pod = names.child(names.cluster_name(name, home), names.Part.RUNNER) if part == STEPS else part
    # The server cannot count the lines of one step.
    wanted = Wanted(follow=follow, tail=None if step else TAIL, container=container)
    async with aclosing(loglines.pick_lines(loglines.stream(visitor.api, pod, home, wanted), step)) as found:
        async for line in found:
            yield line
