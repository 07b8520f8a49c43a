"""`nestor`: all commands in one place, in the order in which a user meets them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Annotated

import typer

from nestor import __version__
from nestor.clients.cli import options
from nestor.clients.cli.commands import (
    access,
    apps,
    bench,
    convert,
    doctor,
    events,
    life,
    listing,
    logs,
    machines,
    run,
    status,
    validate,
)
from nestor.clients.cli.session import OUTER, Place

EPILOG = """Exit codes: 0 success · 1 the job or a step failed, or a problem was found · 2 usage error · 3 not found ·
4 no connection or no permission · 5 timed out · 130 interrupted. NO_COLOR=1 disables colors."""

NO_FILES = 4
"""A directive of kubectl's completion protocol: do not offer file names."""

app = typer.Typer(
    name="nestor",
    no_args_is_help=True,
    epilog=EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nestor {__version__}")
        raise typer.Exit


@app.callback()
def nestor(
    namespace: options.Namespace = None,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run Kubernetes applications as jobs, each in a nested cluster of its own."""
    OUTER.set(Place(namespace, context, kubeconfig))


JOBS = "Jobs"
INSIDE = "Inside a job's cluster"
APPLICATIONS = "Applications and files"
HELP = "Troubleshooting"

app.command("run", rich_help_panel=JOBS)(run.run)
app.command("list", rich_help_panel=JOBS)(listing.list_jobs)
app.command("ls", hidden=True)(listing.list_jobs)
app.command("status", rich_help_panel=JOBS)(status.status)
app.command("wait", rich_help_panel=JOBS)(status.wait)
app.command("events", rich_help_panel=JOBS)(events.events)
app.command("logs", rich_help_panel=JOBS)(logs.logs)
app.command("open", rich_help_panel=JOBS)(status.open_page)
app.command("suspend", rich_help_panel=JOBS)(life.suspend)
app.command("resume", rich_help_panel=JOBS)(life.resume)
app.command("extend", rich_help_panel=JOBS)(life.extend)
app.command("rerun", rich_help_panel=JOBS)(life.rerun)
app.command("delete", rich_help_panel=JOBS)(life.delete)
clusters = typer.Typer(no_args_is_help=True, help="Clusters without an application: create one, connect to it, delete it.")
clusters.command("create")(run.create_cluster)
clusters.command("connect")(access.kubeconfig)
clusters.command("delete")(life.delete)
app.add_typer(clusters, name="cluster", rich_help_panel=JOBS)
app.command("kubeconfig", rich_help_panel=INSIDE)(access.kubeconfig)
app.command("exec", rich_help_panel=INSIDE)(access.execute)
app.command("shell", rich_help_panel=INSIDE)(access.shell)
app.command("apps", rich_help_panel=APPLICATIONS)(apps.apps)
app.command("machines", rich_help_panel=APPLICATIONS)(machines.machines)
app.command("convert", rich_help_panel=APPLICATIONS)(convert.convert)
app.command("validate", rich_help_panel=APPLICATIONS)(validate.validate)
app.command("doctor", rich_help_panel=HELP)(doctor.doctor)
app.command("bench", rich_help_panel=HELP)(bench.bench)


@app.command("version", rich_help_panel=HELP)
def version() -> None:
    """Print the version of this command-line tool."""
    typer.echo(__version__)


def main(arguments: list[str]) -> int:
    """Run one command; its exit code."""
    is_plugin = sys.argv[0].rsplit("/", 1)[-1] == "kubectl-nestor"
    try:
        app(args=arguments, prog_name="kubectl nestor" if is_plugin else "nestor")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0


def complete_kubectl(arguments: list[str]) -> int:
    """Complete `kubectl nestor …` by kubectl's own protocol: a candidate per line, its help after a tab, then a directive."""
    line = " ".join(["nestor", *arguments])
    os.environ |= {"_NESTOR_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line}
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        app(prog_name="nestor")
    print(output.getvalue() + f":{NO_FILES}")
    return 0
