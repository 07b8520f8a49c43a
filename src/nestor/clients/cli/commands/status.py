"""`nestor status | wait | open`: one job, its end, and its page."""

import webbrowser
from enum import StrEnum
from typing import Annotated

import typer

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import console, follow, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view.facts import Ending, address, condition, mood, url_of
from nestor.clients.cli.view.job import render_page


@options.acting
async def status(
    place: Place,
    name: options.JobName,
    follow_it: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Follow the job until it is ready, or until it ends if it has a success policy."),
    ] = False,
    timeout: options.Timeout = None,
    form: options.OutputOption = None,
) -> int:
    """Show one job: its application, its stages, its steps with attempts and times, and its URL.

    Exits with code 1 if the job has failed, for use in scripts.
    """
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        if follow_it:
            return await follow_to_end(opened, job, timeout, form)
    if form in (Output.JSON, Output.YAML, Output.NAME):
        output.print_objects([job], form, is_list=False)
    else:
        console.show(render_page(job, now(), console.symbols(console.out())))
    return Code.FAILED if mood(job)[0] == "bad" else Code.OK


class Goal(StrEnum):
    READY = "ready"
    ENDED = "ended"


@options.acting
async def wait(
    place: Place,
    name: options.JobName,
    goal: Annotated[Goal, typer.Option("--for", help="What to wait for.")] = Goal.READY,
    timeout: options.Timeout = None,
) -> int:
    """Wait until a job is ready, or until it has ended. Prints its URL if it is ready.

    Exits with code 1 if the job fails or is suspended instead.
    """
    async with session.opened(place) as opened:
        is_end = goal is Goal.ENDED
        job, ending = await follow.follow(opened, await opened.get_job(name), until_finished=is_end, timeout=timeout)
    code = _tell_ending(job, ending, None)
    return Code.FAILED if ending.reason == conditions.SUSPENDED else code


async def follow_to_end(
    opened: Session, job: Object, timeout: float | None, form: Output | None = None, *, until_finished: bool = False
) -> int:
    """Follow a job until it is ready, or has ended if it has a success policy."""
    until_finished = until_finished or bool(job["spec"].get("successPolicy"))
    return _tell_ending(*await follow.follow(opened, job, until_finished=until_finished, timeout=timeout), form)


def _tell_ending(job: Object, ending: Ending, form: Output | None) -> int:
    """The exit code. Only the job's URL goes to standard output."""
    name = job["metadata"]["name"]
    if form is not None:
        output.print_objects([job], form, is_list=False)
    if not ending.is_good:
        console.tell(f"job '{name}' failed, {ending.reason}: {ending.message}", mark="bad")
        if advice := status_of(job).get("nextStep"):
            console.tell(advice, mark="advice", style="warn")
        console.tell(f"`nestor logs {address(job)}` shows the output of its steps, `nestor doctor {address(job)}` more")
        return Code.FAILED
    if ending.reason == conditions.SUSPENDED:
        console.tell(f"job '{name}' is suspended; `nestor resume {address(job)}` resumes it", mark="waiting")
    elif form is None and (url := url_of(job)) and not status_of(job).get("completionTime"):
        output.write(url + "\n")
    return Code.OK


@options.acting
async def open_page(
    place: Place,
    name: options.JobName,
    target: Annotated[
        str | None, options.option("--target", help="Service of the target to open. Default: the job's first target.")
    ] = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the URL without opening it.")] = False,
) -> int:
    """Open a job's page in the browser and print its URL."""
    async with session.opened(place) as opened:
        url = find_url(await opened.get_job(name), target)
    output.write(url + "\n")
    if not only_print and not webbrowser.open(url):
        console.tell("no browser found; open the URL yourself", mark="warn")
    return Code.OK


def find_url(job: Object, target: str | None) -> str:
    """The URL of the first target, or of the named one. Raises `Failure` that says why there is none yet. Pure."""
    name, status = job["metadata"]["name"], status_of(job)
    if target is None:
        exposed = condition(job, conditions.EXPOSED) or {}
        if (url := url_of(job)) and exposed.get("status") == "True":
            return url
        said = exposed.get("message") or "it is not exposed yet"
        raise Failure(
            f"job '{name}' has no page at the moment: {said}", hint=f"`nestor status {address(job)} --follow` waits for it"
        )
    targets = status.get("targets") or []
    found = next((item for item in targets if item.get("serviceName") == target), None)
    if found is None:
        known = ", ".join(f"'{item.get('serviceName')}'" for item in targets) or "none"
        raise Failure(f"job '{name}' has no target '{target}'; available: {known}", Code.NOT_FOUND)
    if not found.get("url"):
        raise Failure(
            f"target '{target}' of job '{name}' is not exposed: {found.get('message') or 'see expose.allTargets'}",
            hint="only the first target is exposed unless the job sets `expose.allTargets: true`",
        )
    return str(found["url"])
