"""`nestor cluster create`: a job without an application. The group's other commands are those of any job."""

from __future__ import annotations

from typing import Annotated

import typer

from nestor.clients.cli import manifests, options, session
from nestor.clients.cli.commands import run_options
from nestor.clients.cli.commands.run import Manner, run_job
from nestor.clients.cli.commands.status import read_timeout
from nestor.clients.cli.manifests import Wishes


def create(  # noqa: PLR0913, PLR0917 - the command line's options
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the cluster, and of its job.", show_default=False)],
    class_name: run_options.ClassName = None,
    machine: run_options.Machine = None,
    version: run_options.Version = None,
    detach: run_options.Detach = False,
    no_follow: run_options.NoFollow = False,
    timeout: options.Timeout = None,
    output_form: options.OutputOption = None,
    namespace: options.Namespace = None,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> None:
    """Create a cluster in which nothing is installed, and follow it until it is ready.

    It is a job without an application, so all commands for jobs take its name: `nestor status`, `nestor suspend`, `nestor shell`.
    """
    seconds = read_timeout(timeout)
    place = options.place(namespace, context, kubeconfig)
    manner = Manner(detach or no_follow, remove=False, timeout=seconds, form=output_form)
    job = manifests.build_cluster(name, Wishes(class_name=class_name, machine=machine, version=version))
    raise typer.Exit(session.run(lambda: run_job(place, job, manner)))
