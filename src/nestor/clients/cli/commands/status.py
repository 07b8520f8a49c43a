"""`nestor status` and `nestor open`: one job, and its page."""

from __future__ import annotations

import datetime
import webbrowser
from typing import Annotated

import typer

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.clients.cli import console, follow, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import Ending, address, condition, mood, url_of
from nestor.clients.cli.view.job import render_page


def read_timeout(text: str | None) -> float | None:
    """Seconds of `--timeout`. Raises a usage error."""
    try:
        return times.parse_duration(text) if text else None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from error


def status(
    name: options.JobName,
    follow_it: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Follow the job until it is ready, or until it ends if it has a success policy."),
    ] = False,
    timeout: options.Timeout = None,
    output_form: options.OutputOption = None,
    namespace: options.Namespace = None,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> None:
    """Show one job: its application, its stages, its steps with attempts and times, and its URL.

    Exits with code 1 if the job has failed, for use in scripts.
    """
    seconds = read_timeout(timeout)
    place = options.place(namespace, context, kubeconfig)
    raise typer.Exit(session.run(lambda: _status(place, name, seconds, output_form, follow_it=follow_it)))


async def _status(place: Place, name: str, timeout: float | None, form: Output | None, *, follow_it: bool) -> int:
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        if follow_it:
            job, ending = await follow.follow(opened, job, until_finished=waits_for_end(job), timeout=timeout)
            return conclude(job, ending, form)
    if form in (Output.JSON, Output.YAML, Output.NAME):
        output.print_objects([job], form, is_list=False)
    else:
        console.show(render_page(job, datetime.datetime.now(datetime.UTC), console.symbols(console.out())))
    return Code.FAILED if mood(job)[0] == "bad" else Code.OK


def waits_for_end(job: Object) -> bool:
    """Whether the job is expected to end by itself."""
    return bool(job["spec"].get("successPolicy"))


def conclude(job: Object, ending: Ending, form: Output | None) -> int:
    """Report how a followed job ended: only its URL goes to standard output."""
    name = job["metadata"]["name"]
    if form is not None:
        output.print_objects([job], Output.JSON if form is Output.WIDE else form, is_list=False)
    if not ending.is_good:
        console.tell(f"job '{name}' failed, {ending.reason}: {ending.message}", mark="bad")
        console.tell(f"`nestor logs {address(job)}` shows the output of its steps, `nestor doctor {address(job)}` what to do")
        return Code.FAILED
    if ending.reason == conditions.SUSPENDED:
        console.tell(f"job '{name}' is suspended; `nestor resume {address(job)}` resumes it", mark="waiting")
    elif form is None and (url := url_of(job)) and not status_of(job).get("completionTime"):
        output.write(url + "\n")
    return Code.OK


def open_page(
    name: options.JobName,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Service of the target to open. Default: the job's first target.", show_default=False),
    ] = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the URL without opening it.")] = False,
    namespace: options.Namespace = None,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> None:
    """Open a job's page in the browser and print its URL."""
    place = options.place(namespace, context, kubeconfig)
    raise typer.Exit(session.run(lambda: _open(place, name, target, only_print=only_print)))


async def _open(place: Place, name: str, target: str | None, *, only_print: bool) -> int:
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
