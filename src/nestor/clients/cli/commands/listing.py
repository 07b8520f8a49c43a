"""`nestor list`: the jobs of a namespace, or of all."""

from __future__ import annotations

import datetime
from typing import Annotated

import typer
from rich.text import Text

from nestor.api.objects import Object, status_of
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import condition, describe_app, mood, pick_line
from nestor.clients.cli.view.job import STYLES
from nestor.kube import kinds


def list_jobs(
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List the jobs of all namespaces.")] = False,
    selector: Annotated[
        str, typer.Option("--selector", "-l", help="List only jobs with these labels, for example `team=a`.")
    ] = "",
    output_form: options.OutputOption = None,
    namespace: options.Namespace = None,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> None:
    """List jobs with their state, URL, version and age.

    `-o wide` adds the steps done, the command, the application and the reason as a sentence.
    """
    place = options.place(namespace, context, kubeconfig)
    raise typer.Exit(session.run(lambda: _list(place, all_namespaces, selector, output_form)))


async def _list(place: Place, all_namespaces: bool, selector: str, form: Output | None) -> int:
    async with session.opened(place) as opened:
        jobs = await opened.api.list(kinds.NESTED_APP_JOB, None if all_namespaces else opened.namespace, labels=selector)
        where = opened.namespace
    if form in (Output.JSON, Output.YAML, Output.NAME):
        output.print_objects(jobs, form, is_list=True)
    elif jobs:
        now = datetime.datetime.now(datetime.UTC)
        output.print_table(*build_rows(jobs, now, all_namespaces=all_namespaces, wide=form is Output.WIDE))
    else:
        console.tell("no jobs" if all_namespaces else f"no jobs in namespace '{where}'")
    return 0


def build_rows(
    jobs: list[Object], now: datetime.datetime, *, all_namespaces: bool, wide: bool
) -> tuple[list[str], list[list[str | Text]]]:
    """Head and rows of the table. Pure."""
    head = ["NAMESPACE"] * all_namespaces + ["NAME", "STATUS", "URL", "VERSION", "AGE"]
    head += ["STEPS", "COMMAND", "APP", "MESSAGE"] * wide
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
            ]
        rows.append(row)
    return head, rows


def count_steps(status: Object) -> str:
    """How many steps are done, as `2/4`."""
    steps = status.get("steps") or []
    return f"{sum(step.get('state') == 'Succeeded' for step in steps)}/{len(steps)}" if steps else ""
