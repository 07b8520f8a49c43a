"""`nestor kubeconfig | exec | shell`: into a job's nested cluster."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer
import yaml

from nestor.api.objects import Object
from nestor.clients.cli import console, kubeconfigs, nested, options, output, session
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.offline.documents import Loader
from nestor.clients.cli.output import dump_yaml
from nestor.clients.cli.session import Place

EXIT_NOT_FOUND = 127
"""What shells use for a command that does not exist."""


@options.acting
async def kubeconfig(
    place: Place,
    name: options.JobName,
    target: Annotated[
        Path | None,
        options.option("--output", "-o", dir_okay=False, help="Write it to this file (mode 0600) instead of standard output."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Add it to your kubeconfig ($KUBECONFIG, or ~/.kube/config) as a context.")
    ] = False,
    context_name: Annotated[
        str | None, options.option("--context-name", help="Name of that context. Default: nestor-<namespace>-<job>.")
    ] = None,
    use: Annotated[bool, typer.Option("--use", help="With --merge: make it the current context.")] = False,
) -> int:
    """Print the admin kubeconfig of a job's nested cluster, write it to a file, or merge it into yours.

    Its address is that of a Service in the host cluster. By default, only pods of the host that belong to no job may
    connect to it; the class's `network.apiFrom` may name others. From elsewhere, use `nestor exec` or `nestor shell`, which open
    a tunnel if necessary.
    """
    if merge and target:
        raise typer.BadParameter("--merge and --output cannot be combined", param_hint="--merge")
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        content = await kubeconfigs.read(opened.api, job)
        is_reachable = await nested.answers(content)
        chosen = kubeconfigs.renamed(content, context_name or kubeconfigs.context_name(job))
    if merge:
        mine = place.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        path = _merge_into(Path(mine.split(os.pathsep)[0]), chosen, use=use)
        console.tell(f"context '{chosen['current-context']}' added to {path}", mark="good")
        if not use:
            console.tell(f"  kubectl --context {chosen['current-context']} get pods -A")
    elif target:
        write_private(target, dump_yaml(chosen))
        console.tell(f"{target} written", mark="good")
    else:
        output.write(dump_yaml(chosen))
    if not is_reachable:
        host, _ = kubeconfigs.server_address(content)
        way = f"`nestor shell {name}`, which opens a tunnel"
        console.tell(f"its address {host} is not reachable from this machine; use {way}", mark="warn")
    return Code.OK


def _merge_into(path: Path, nested_config: Object, *, use: bool) -> Path:
    """To the user's own file: one beside it is moved into place, so that readers see either the old content or the new."""
    path = path.expanduser().resolve()
    try:
        # Not `safe_load`: it makes dates of timestamps, and these would be written back in another form.
        mine = yaml.load(path.read_text(), Loader=Loader) if path.exists() else {}  # noqa: S506 - a safe one
    except (OSError, yaml.YAMLError) as error:
        raise Failure(f"{path} cannot be read: {error}") from error
    if not isinstance(mine or {}, dict):
        raise Failure(f"{path} is not a kubeconfig")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(path, dump_yaml(kubeconfigs.merged(mine or {}, nested_config, use=use)))
    return path


def write_private(path: Path, text: str) -> None:
    """A file that only the user can read, written completely or not at all. Raises `Failure`."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror or error}") from error


@options.acting
async def execute(
    place: Place,
    name: options.JobName,
    command: Annotated[list[str], options.argument(metavar="-- COMMAND…", help="Command to run, with its arguments.")],
) -> int:
    """Run a command on this machine with KUBECONFIG set to a job's nested cluster.

    The kubeconfig is a temporary file that only you can read. If the cluster's address is not reachable from here, a `kubectl
    port-forward` tunnel is open while the command runs. Exits with the command's exit code.
    """
    words = command[1:] if command[:1] == ["--"] else command
    if not words:
        raise typer.BadParameter("specify a command after --", param_hint="COMMAND")
    return await _execute(place, name, words)


@options.acting
async def shell(place: Place, name: options.JobName) -> int:
    """Open your shell with KUBECONFIG set to a job's nested cluster. Leave it with `exit`.

    Like `nestor exec`, it opens a `kubectl port-forward` tunnel if the cluster's address is not reachable from here.
    """
    return await _execute(place, name, [os.environ.get("SHELL") or "/bin/sh"], is_shell=True)


async def _execute(place: Place, name: str, command: list[str], *, is_shell: bool = False) -> int:
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        async with nested.reachable(opened, job) as content:
            with nested.kubeconfig_file(content) as file:
                if is_shell:
                    console.tell(f"kubectl now uses the cluster of job '{name}'; type `exit` to leave", mark="good")
                where = f"{job['metadata']['namespace']}/{name}"
                return await _run_child(command, {**os.environ, "KUBECONFIG": file, "NESTOR_JOB": where})


async def _run_child(command: list[str], environment: dict[str, str]) -> int:
    """Run it in the foreground. Ctrl-C is left to the child, which is in our process group and receives it as well."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
    except FileNotFoundError:
        console.tell_problem(f"command '{command[0]}' not found on this machine")
        return EXIT_NOT_FOUND
    except OSError as error:
        console.tell_problem(f"'{command[0]}' cannot be run: {error.strerror or error}")
        return EXIT_NOT_FOUND - 1
    try:
        code = await process.wait()
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if process.returncode is None:
            process.terminate()
    return code if code >= 0 else 128 - code
