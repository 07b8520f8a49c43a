"""`nestor list`: jobs, once or as they change."""

import datetime
from contextlib import aclosing
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import condition, describe_app, mood, pick_line
from nestor.clients.cli.view.job import STYLES
from nestor.kube import Api, kinds


@options.acting
async def list_jobs(
    place: Place,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="List the jobs of all namespaces.")] = False,
    selector: Annotated[
        str, typer.Option("--selector", "-l", help="List only jobs with these labels, for example `team=a`.")
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Then print each job that changes, until Ctrl-C.")] = False,
    form: options.OutputOption = None,
) -> int:
    """List jobs with their state, URL, version and age.

    `-o wide` adds the steps done, the command, the application, the reason as a sentence and what to do next.
    """
    is_table = form in (None, Output.WIDE)
    if watch and not is_table:
        raise typer.BadParameter("jobs are watched as a table", param_hint="--watch")
    async with session.opened(place) as opened:
        where = None if all_namespaces else opened.namespace
        if watch:
            await watch_jobs(opened.api, where, selector, wide=form is Output.WIDE)
        jobs = await opened.api.list(kinds.NESTED_APP_JOB, where, labels=selector)
    if form is not None and not is_table:
        output.print_objects(jobs, form, is_list=True)
    elif jobs:
        output.print_table(*build_rows(jobs, now(), all_namespaces=all_namespaces, wide=form is Output.WIDE))
    else:
        console.tell(f"no jobs in namespace '{where}'" if where else "no jobs")
    return 0


async def watch_jobs(api: Api, where: str | None, selector: str, *, wide: bool) -> NoReturn:
    """Print all jobs, and then those of which more has changed than their age."""
    told: set[tuple[str, ...]] = set()
    widths: list[int] = []
    async with aclosing(session.watch(api, kinds.NESTED_APP_JOB, where, labels=selector)) as states:
        async for found in states:
            head, rows = build_rows([*found], now(), all_namespaces=where is None, wide=wide)
            age = head.index("AGE")
            keys = [tuple(str(cell) for index, cell in enumerate(row) if index != age) for row in rows]
            fresh = [row for key, row in zip(keys, rows, strict=True) if key not in told]
            if fresh:
                output.print_table(head, fresh, widths)
                told, widths = set(keys), [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    raise AssertionError("a watch ends only by an exception")


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
            ready, steps = condition(job, "Ready") or {}, status.get("steps") or []
            row += [
                f"{sum(step.get('state') == 'Succeeded' for step in steps)}/{len(steps)}" if steps else "",
                str(status.get("command") or job["spec"].get("command") or ""),
                describe_app(job["spec"]),
                pick_line(str(ready.get("message") or "")),
                str(status.get("nextStep") or ""),
            ]
        rows.append(row)
    return head, rows
