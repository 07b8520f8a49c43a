"""`nestor run`: make a job and follow it to its URL."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass

import typer

from nestor.api import labels
from nestor.api.objects import Object
from nestor.clients.cli import console, follow, jobs, manifests, options, output, session
from nestor.clients.cli.commands import run_options
from nestor.clients.cli.commands.life import wait_until_gone
from nestor.clients.cli.commands.status import conclude, read_timeout, waits_for_end
from nestor.clients.cli.exits import Code
from nestor.clients.cli.identity import ask_name
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.options import Output
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view.facts import address
from nestor.kube import Forbidden, kinds


def run(  # noqa: PLR0913, PLR0917 - the command line's options
    what: run_options.App = None,
    file: run_options.File = None,
    templates: run_options.Templates = None,
    name: run_options.Name = None,
    command: run_options.Command = None,
    parameter: run_options.Parameters = None,
    parameters_from: run_options.ParametersFrom = None,
    class_name: run_options.ClassName = None,
    machine: run_options.Machine = None,
    version: run_options.Version = None,
    host: run_options.Host = None,
    all_targets: run_options.AllTargets = False,
    detach: run_options.Detach = False,
    no_follow: run_options.NoFollow = False,
    remove: run_options.Remove = False,
    timeout: options.Timeout = None,
    output_form: options.OutputOption = None,
    namespace: options.Namespace = None,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> None:
    """Run an application as a job and follow it: its stages, its steps with attempts and times, and finally its URL.

    Only the URL is written to standard output, so that `URL=$(nestor run hello)` works. Ctrl-C stops following; the job keeps
    running.
    """
    detach = detach or no_follow
    seconds = read_timeout(timeout)
    if what is None and file is None:
        raise typer.BadParameter("specify an application, an image, or a file with -f", param_hint="APP|IMAGE")
    if remove and detach:
        raise typer.BadParameter("only a job that is followed can be deleted at its end", param_hint="--rm")
    place = options.place(namespace, context, kubeconfig)

    async def start() -> int:
        wishes = Wishes(
            name=name,
            config_map=templates,
            command=command,
            class_name=class_name,
            machine=machine,
            version=version,
            host=host,
            all_targets=all_targets,
            parameters=manifests.parse_parameters(parameter or []),
            parameters_from=parameters_from,
        )
        job = jobs.build(what, file, wishes, secrets.token_hex(8))
        return await run_job(place, job, Manner(detach, remove, seconds, output_form))

    raise typer.Exit(session.run(start))


@dataclass(frozen=True)
class Manner:
    """What to do after the job is created."""

    detach: bool
    remove: bool
    timeout: float | None
    form: Output | None


async def run_job(place: Place, job: Object, manner: Manner) -> int:
    """Create the job and follow it; the exit code."""
    async with session.opened(place) as connected:
        asked = place.merged(session.OUTER.get()).namespace
        target = asked or job["metadata"].get("namespace") or connected.namespace
        opened = Session(connected.api, target, connected.context)
        made = await _create(opened, job)
        if manner.detach:
            _print_detached(made, manner)
            return Code.OK
        try:
            return await _follow(opened, made, manner)
        except asyncio.CancelledError:
            if not manner.remove:
                _say_how_to_go_on(made)
            raise
        finally:
            if manner.remove:
                await _remove(opened, made)


async def _create(opened: Session, job: Object) -> Object:
    """Create the job, but first check that its application is in the catalog: the operator would only refuse it later."""
    if "appRef" in job["spec"]:
        with contextlib.suppress(Forbidden):
            await opened.get(kinds.NESTED_APP, str(job["spec"]["appRef"]["name"]))
    meta = {**job["metadata"], "namespace": opened.namespace}
    if owner := await ask_name(opened.api):
        meta["annotations"] = {labels.CREATED_BY: owner} | (meta.get("annotations") or {})
    body = {**job, "metadata": meta}
    made = await opened.api.create(kinds.NESTED_APP_JOB, body)
    console.tell(f"job '{made['metadata']['name']}' created in namespace '{opened.namespace}'", mark="good")
    return made


async def _follow(opened: Session, made: Object, manner: Manner) -> int:
    until_finished = manner.remove or waits_for_end(made)
    last, ending = await follow.follow(opened, made, until_finished=until_finished, timeout=manner.timeout)
    return conclude(last, ending, manner.form)


def _print_detached(made: Object, manner: Manner) -> None:
    if manner.form is None:
        output.write(made["metadata"]["name"] + "\n")
    else:
        output.print_objects([made], Output.JSON if manner.form is Output.WIDE else manner.form, is_list=False)


def _say_how_to_go_on(made: Object) -> None:
    console.tell(f"\njob '{made['metadata']['name']}' keeps running")
    console.tell(f"  nestor status {address(made)} --follow   follow it again")
    console.tell(f"  nestor delete {address(made)}            delete it")


async def _remove(opened: Session, made: Object) -> None:
    """Even after an interrupt: the clean-up was requested."""
    await opened.api.delete(kinds.NESTED_APP_JOB, made["metadata"]["name"], opened.namespace, uid=made["metadata"]["uid"])
    await wait_until_gone(opened, [made], None)
