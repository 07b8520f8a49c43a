"""`nestor`: all commands in one place, in the order in which a user meets them."""

import contextlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from nestor import __version__
from nestor.clients.cli import options
from nestor.clients.cli.commands import (
    access,
    apps,
    bench,
    convert,
    dev,
    doctor,
    events,
    init,
    install,
    life,
    listing,
    logs,
    machines,
    run,
    status,
    top,
    validate,
)
from nestor.clients.cli.session import OUTER, Place

EPILOG = """Exit codes: 0 success · 1 the job or a step failed, or a problem was found · 2 usage error · 3 not found ·
4 no connection or no permission · 5 timed out · 130 interrupted. NO_COLOR=1 disables colors."""

NO_FILES = 4
"""A directive of kubectl's completion protocol: do not offer file names."""


class Commands(TyperGroup):
    """Its help lists the commands by what they are for, each in a sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found: list[Any] = [self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden]
        for panel in dict.fromkeys(command.rich_help_panel for command in found):
            own = [command for command in found if command.rich_help_panel == panel]
            with formatter.section(panel or "Commands"):
                formatter.write_dl([(command.name, f"{(command.help or '').partition('.')[0]}.") for command in own])


class Command(TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As kubectl has them: `NAME`, not `{NAME}`."""
        return [re.sub(r"^\{(.*?)…?\}", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


app = typer.Typer(
    name="nestor",
    no_args_is_help=True,
    epilog=EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nestor {__version__}")
        raise typer.Exit


@app.callback(cls=Commands)
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
HELP = "Installation and troubleshooting"

clusters = typer.Typer(no_args_is_help=True, help="Clusters without an application: create one, connect to it, delete it.")


def add(panel: str | None, name: str, function: Callable[..., Any], *examples: str) -> None:
    """A command; those without a panel are of `cluster`. Below what it says of itself, it has examples, as kubectl's have."""
    lines = "\n".join(f"  nestor {example}" for example in examples)
    told = f"{inspect.cleandoc(function.__doc__ or '')}\n\n\b\nExamples:\n{lines}"
    (app if panel else clusters).command(name, cls=Command, rich_help_panel=panel, help=told)(function)


add(
    JOBS,
    "run",
    run.run,
    "run hello-world",
    "run registry.example.com/shop:1 -p REPLICAS=2",
    "run --chart oci://registry.example.com/shop --target web:80",
)
add(JOBS, "list", listing.list_jobs, "list", "list -A -o wide", "list --watch")
app.command("ls", hidden=True)(listing.list_jobs)
add(JOBS, "status", status.status, "status shop", "status shop --follow --timeout 5m")
add(JOBS, "wait", status.wait, "wait shop", "wait training --for ended --timeout 2h")
add(JOBS, "events", events.events, "events shop")
add(JOBS, "logs", logs.logs, "logs shop -f", "logs shop database", "logs shop default/web-0 --tail 20")
add(JOBS, "top", top.top, "top", "top shop")
add(JOBS, "open", status.open_page, "open shop", "open shop --print")
add(JOBS, "suspend", life.suspend, "suspend shop training")
add(JOBS, "resume", life.resume, "resume shop training")
add(JOBS, "extend", life.extend, "extend training 2h")
add(JOBS, "rerun", life.rerun, "rerun shop --follow", "rerun training --yes")
add(JOBS, "delete", life.delete, "delete shop training --wait")
add(None, "create", run.create_cluster, "cluster create lab --version v1.36")
add(None, "connect", access.kubeconfig, "cluster connect lab --merge --use")
add(None, "delete", life.delete, "cluster delete lab --wait")
app.add_typer(clusters, name="cluster", rich_help_panel=JOBS)
add(INSIDE, "kubeconfig", access.kubeconfig, "kubeconfig shop -o shop.kubeconfig", "kubeconfig shop --merge --use")
add(INSIDE, "exec", access.execute, "exec shop -- kubectl get pods -A", "exec shop -- helm list -A")
add(INSIDE, "shell", access.shell, "shell shop")
add(APPLICATIONS, "apps", apps.apps, "apps", "apps hello-world")
add(APPLICATIONS, "machines", machines.machines, "machines")
add(APPLICATIONS, "init", init.init, "init shop", "init shop --chart oci://registry.example.com/shop --target web:80")
add(APPLICATIONS, "dev", dev.dev, "dev manifests/ --target web:80", "dev overlays/test test-3f9c2")
add(APPLICATIONS, "convert", convert.convert, "convert AppDef.json --image registry.example.com/shop:1 > job.yaml")
add(APPLICATIONS, "validate", validate.validate, "validate jobs/ --class batch.yaml", "validate AppDef.json")
add(HELP, "doctor", doctor.doctor, "doctor", "doctor shop")
add(HELP, "install", install.install, "install --dry-run", "install --domain apps.example.com --profile Evaluation --yes")
add(HELP, "bench", bench.bench, "bench --jobs 5")


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
