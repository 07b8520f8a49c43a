"""`nestor list | status | open`: jobs, one of them, and its page."""

from __future__ import annotations

import datetime
import webbrowser
from typing import Annotated

import typer
from rich.text import Text

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import console, follow, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import address, condition, describe_app, mood, pick_line, url_of
from nestor.clients.cli.view.job import STYLES, render_page
from nestor.kube import kinds


@options.acting
async def list_jobs(
    place: Place,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List the jobs of all namespaces.")] = False,
    selector: Annotated[
        str, typer.Option("--selector", "-l", help="List only jobs with these labels, for example `team=a`.")
    ] = "",
    form: options.OutputOption = None,
) -> int:
    """List jobs with their state, URL, version and age.

    `-o wide` adds the steps done, the command, the application, the reason as a sentence and what to do next.
    """
    async with session.opened(place) as opened:
        jobs = await opened.api.list(kinds.NESTED_APP_JOB, None if all_namespaces else opened.namespace, labels=selector)
        where = opened.namespace
    if form in (Output.JSON, Output.YAML, Output.NAME):
        output.print_objects(jobs, form, is_list=True)
    elif jobs:
        output.print_table(*build_rows(jobs, now(), all_namespaces=all_namespaces, wide=form is Output.WIDE))
    else:
        console.tell("no jobs" if all_namespaces else f"no jobs in namespace '{where}'")
    return 0


def build_rows(
    jobs: list[Object], now: datetime.datetime, *, all_namespaces: bool, wide: bool
) -> tuple[list[str], list[list[str | Text]]]:
    head = ["NAMESPACE"] * all_namespaces + ["NAME", "STATUS", "URL", "VERSION", "AGE"]
    head += ["STEPS", "COMMAND", "APP", "MESSAGE", "NEXT STEP"] * wide
    rows: list[list[str | Text]] = []
    for job in jobs:
        status, meta = status_of(job), job["metadata"]
        feeling, word = mood(job)
        row: list[str | Text] = [meta["namespace"]] if all_namespaces else []
        row += [
            meta["name"],
            Text(word, STYLES[feeling]),
            str(status.get("url") or ""),
            str(status.get("kubernetesVersion") or ""),
            times.age(meta.get("creationTimestamp"), now),
        ]
        if wide:
            ready = condition(job, "Ready") or {}
            row += [
                count_steps(status),
                str(status.get("command") or job["spec"].get("command") or ""),
                describe_app(job["spec"]),
                pick_line(str(ready.get("message") or "")),
                str(status.get("nextStep") or ""),
            ]
        rows.append(row)
    return head, rows


def count_steps(status: Object) -> str:
    """How many steps are done, as `2/4`."""
    steps = status.get("steps") or []
    return f"{sum(step.get('state') == 'Succeeded' for step in steps)}/{len(steps)}" if steps else ""


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


async def follow_to_end(
    opened: Session, job: Object, timeout: float | None, form: Output | None = None, *, until_finished: bool = False
) -> int:
    """Follow a job until it is ready, or has ended if it has a success policy. Only its URL goes to standard output."""
    until_finished = until_finished or bool(job["spec"].get("successPolicy"))
    job, ending = await follow.follow(opened, job, until_finished=until_finished, timeout=timeout)
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
