"""`nestor run` and `nestor cluster create`: make a job, with or without an application, and follow it."""

import asyncio
import contextlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from nestor.api import labels
from nestor.api.objects import Object
from nestor.clients.cli import console, manifests, options, output, packages, session
from nestor.clients.cli.commands import sources
from nestor.clients.cli.commands.life import wait_until_gone
from nestor.clients.cli.commands.status import follow_to_end
from nestor.clients.cli.exits import Code
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.options import Output
from nestor.clients.cli.packages import Package
from nestor.clients.cli.session import Place, Session, ask_name
from nestor.clients.cli.view.facts import address
from nestor.kube import Forbidden, kinds


@options.acting
async def run(  # noqa: PLR0913, PLR0917 - the command line's options
    place: Place,
    what: options.App = None,
    file: options.File = None,
    templates: options.Templates = None,
    chart: options.Chart = None,
    repo: options.Repo = None,
    chart_version: options.ChartVersion = None,
    sets: options.Sets = None,
    manifest: options.Manifest = None,
    kustomize: options.Kustomize = None,
    target: options.Targets = None,
    name: options.Name = None,
    command: options.Command = None,
    parameter: options.Parameters = None,
    parameters_from: options.ParametersFrom = None,
    class_name: options.ClassName = None,
    machine: options.Machine = None,
    version: options.Version = None,
    host: options.Host = None,
    all_targets: options.AllTargets = False,
    detach: options.Detach = False,
    remove: options.Remove = False,
    timeout: options.Timeout = None,
    form: options.OutputOption = None,
) -> int:
    """Run an application, a chart or a manifest as a job and follow it: its stages, its steps, and finally its URL.

    Only the URL is written to standard output, so that `URL=$(nestor run hello)` works. Ctrl-C stops following; the job keeps
    running.
    """
    package = Package(chart, repo, chart_version, sets, manifest, kustomize, target)
    _check_source(what, file, templates, package)
    if remove and detach:
        raise typer.BadParameter("only a job that is followed can be deleted at its end", param_hint="--rm")
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
    manner, random = Manner(detach, remove, timeout, form), secrets.token_hex(8)
    is_named = what is not None or file is not None
    job, data = sources.build_job(what, file, wishes, random) if is_named else sources.build_packaged(package, wishes, random)
    return await run_job(place, job, manner, data, package)


def _check_source(what: str | None, file: Path | None, templates: str | None, package: Package) -> None:
    """One way to say what to run, and only the options that belong to it. Raises `BadParameter`."""
    ways = [package.chart, package.manifest, package.kustomize]
    if sum(way is not None for way in (what or file, *ways)) != 1:
        message = "specify one: an application, an image, a file with -f, --chart, --manifest or --kustomize"
        raise typer.BadParameter(message, param_hint="APP|IMAGE")
    is_of_chart = package.repo or package.version or package.sets
    if (is_of_chart and not package.chart) or (package.targets and not any(ways)) or (templates and any(ways)):
        message = (
            "--repo, --chart-version and --set belong to --chart; --target to it, --manifest or --kustomize; --templates to -f"
        )
        raise typer.BadParameter(message)


@dataclass(frozen=True)
class Manner:
    detach: bool
    remove: bool
    timeout: float | None
    form: Output | None


async def run_job(place: Place, job: Object, manner: Manner, data: Object | None = None, package: Package | None = None) -> int:
    """Create the job and follow it; the exit code. `data`: of the ConfigMap that it needs."""
    async with session.opened(place) as connected:
        asked = place.merged(session.OUTER.get()).namespace
        target = asked or job["metadata"].get("namespace") or connected.namespace
        opened = Session(connected.api, target, connected.context)
        if package and package.is_remote:
            await packages.check_internet(opened, job["spec"].get("className"))
        made = await (packages.create(opened, job, data, create_job) if data else create_job(opened, job))
        if manner.detach:
            if manner.form is None:
                output.write(made["metadata"]["name"] + "\n")
            else:
                output.print_objects([made], manner.form, is_list=False)
            return Code.OK
        try:
            return await follow_to_end(opened, made, manner.timeout, manner.form, until_finished=manner.remove)
        except asyncio.CancelledError:
            if not manner.remove:
                tell_kept(made)
            raise
        finally:
            if manner.remove:  # Even after an interrupt: the clean-up was requested.
                meta = made["metadata"]
                await opened.api.delete(kinds.NESTED_APP_JOB, meta["name"], opened.namespace, uid=meta["uid"])
                await wait_until_gone(opened, [made], None)


def tell_kept(job: Object) -> None:
    """After Ctrl-C."""
    console.tell(f"\njob '{job['metadata']['name']}' keeps running")
    console.tell(f"  nestor status {address(job)} --follow   follow it again")
    console.tell(f"  nestor delete {address(job)}            delete it")


async def create_job(opened: Session, job: Object) -> Object:
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


@options.acting
async def create_cluster(
    place: Place,
    name: Annotated[str, options.argument(metavar="NAME", help="Name of the cluster, and of its job.")],
    class_name: options.ClassName = None,
    machine: options.Machine = None,
    version: options.Version = None,
    detach: options.Detach = False,
    timeout: options.Timeout = None,
    form: options.OutputOption = None,
) -> int:
    """Create a cluster in which nothing is installed, and follow it until it is ready.

    It is a job without an application, so all commands for jobs take its name: `nestor status`, `nestor suspend`, `nestor shell`.
    """
    job = manifests.build_cluster(name, Wishes(class_name=class_name, machine=machine, version=version))
    return await run_job(place, job, Manner(detach, remove=False, timeout=timeout, form=form))
