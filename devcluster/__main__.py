"""`python -m devcluster …`: the development cluster's command line."""

import argparse
import json
import signal
import subprocess
import sys

from devcluster import cluster
from devcluster.build import cache
from devcluster.progress import Console, Progress

COMMANDS = {
    "up": "have a ready cluster, building and starting what is missing",
    "down": "end the cluster and leave nothing behind",
    "status": "say how the cluster is; exit code 0 when it is healthy",
    "kubeconfig": "print the path of the kubeconfig",
    "build": "build the binaries and images only",
    "load": "rebuild the images that changed and give them to the cluster",
    "hold": "run a program while nobody else on this machine starts or ends a cluster",
    "node": "stop a node of the embedded cluster, as a power cut does, or start it again",
    "plugin": "start the embedded cluster's interLink plugin, end it, or set its switches (values in JSON)",
}


def build_parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    parser = argparse.ArgumentParser(prog="python -m devcluster", description=cluster.__doc__, formatter_class=_Raw)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        added = commands.add_parser(name, help=text)
        if name == "node":
            added.add_argument("action", choices=("stop", "start"))
            added.add_argument("name")
        if name == "plugin":
            added.add_argument("action", choices=("up", "down", "status", "restart", "set", "reset"))
            added.add_argument("switches", nargs="*", metavar="NAME=VALUE")
        if name in ("up", "load"):
            added.add_argument(
                "extras",
                nargs="*",
                metavar="EXTRA",
                help="for some tests and examples: examples, python, redis, volumes, device-plugin, metrics-server",
            )
        if name == "hold":
            added.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM …")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code."""
    chosen = build_parser().parse_args(arguments)
    try:
        return _run(chosen)
    except RuntimeError as error:
        print(f"devcluster {chosen.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(chosen: argparse.Namespace) -> int:
    progress = Console(times=cache.times())
    match chosen.command:
        case "up":
            found = cluster.up(progress, *chosen.extras)
            print(f"export KUBECONFIG={found.kubeconfig}")
        case "down":
            return _down(progress)
        case "status":
            return _status()
        case "kubeconfig":
            print(cluster.kubeconfig())
        case "build":
            _build(progress)
        case "load":
            cluster.load(progress, *chosen.extras)
        case "node":
            cluster.node(chosen.action, chosen.name, progress)
        case "plugin":
            return _plugin(chosen.action, chosen.switches, progress)
        case "hold":
            return _hold(chosen.program[1:], progress)
    return 0


def _build(progress: Progress) -> None:
    from devcluster import build  # noqa: PLC0415 - the other commands must work where nothing can be built

    build.ensure_images(progress)


def _down(progress: Progress) -> int:
    left = cluster.down(progress)
    for thing in left:
        print(f"left: {thing}", file=sys.stderr)
    return 1 if left else 0


def _hold(program: list[str], progress: Console) -> int:
    """Run a program, with the cluster ours, to its end; its exit code. What would end us first is for the program."""
    if not program:
        raise RuntimeError("name a program: 'python -m devcluster hold -- make jobs'")
    with cluster.hold(" ".join(program), progress):
        process = subprocess.Popen(program, close_fds=False)  # make hands its jobs on by file descriptors
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the program as well
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        return process.wait()


def _plugin(action: str, switches: list[str], progress: Progress) -> int:
    if action == "status":
        is_up, message = cluster.plugin_status()
        print(message)
        return 0 if is_up else 1
    found = cluster.plugin("down" if action == "down" else "up", progress)
    match action:
        case "up":
            print(f"interLink API server: {found.server_url} and {found.server_tls_url}, plugin: {found.plugin_url}")
        case "restart":
            found.client.restart()
        case "set":
            found.client.switch(**dict(_read_switch(text) for text in switches))
        case "reset":
            found.client.reset()
    return 0


def _read_switch(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError as error:
        raise RuntimeError(f"'{text}' must be NAME=VALUE, the value in JSON: {error}") from error


def _status() -> int:
    found = cluster.status()
    print(f"{found.kind}: {found.message}")
    for title, is_ok in found.checks.items():
        print(f"  {'ok ' if is_ok else 'NOT'} {title}")
    return 0 if found.healthy else 1


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keeps the description's lines."""


if __name__ == "__main__":
    sys.exit(main())
