"""`nestor dev`: each saved change of a folder, in a running job."""

import asyncio
import json
import re
import secrets
import shlex
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.api.times import now
from nestor.clients.cli import console, follow, manifests, nested, options, output, packages, session
from nestor.clients.cli.commands import sources
from nestor.clients.cli.commands.run import create_job, tell_kept
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.offline import files
from nestor.clients.cli.offline.changes import Stamps, compare, read_stamps
from nestor.clients.cli.packages import FILE, Package
from nestor.clients.cli.session import Place, Session
from nestor.clients.cli.view.facts import address, condition, describe_trouble, find_ending, url_of
from nestor.kube import Api, ApiError, Informer, Unreachable, kinds

LOOK_SECONDS = 0.5
APPLY = ("apply", "--server-side", "--force-conflicts", "-f", "-")
DELETE = ("delete", "--ignore-not-found", "--wait=false", "-f", "-")


@options.acting
async def dev(
    place: Place,
    folder: Annotated[Path, options.argument(metavar="DIR", help="A folder of manifests, or a kustomization.")],
    name: Annotated[str | None, options.optional_job(help="A job to apply it to. Default: a new one.")] = None,
    target: options.Targets = None,
    class_name: options.ClassName = None,
) -> int:
    """Run a folder as a job, and apply each saved change to its cluster within seconds. What leaves the folder is deleted.

    A file with an error is reported, and the next change tried. Ctrl-C leaves the job running, with the folder's last state
    as its application. The kubectl on your machine applies the changes.
    """
    if name and (target or class_name):
        raise typer.BadParameter("--target and --class belong to a new job")
    folder = folder.resolve()
    is_built = any((folder / name).is_file() for name in files.KUSTOMIZATIONS)
    package = Package(kustomize=str(folder), targets=target) if is_built else Package(manifest=str(folder), targets=target)
    made, data = sources.build_packaged(package, Wishes(class_name=class_name), secrets.token_hex(8))
    session.find_kubectl("`nestor dev`")
    async with session.opened(place) as opened:
        job = await opened.get_job(name) if name else await packages.create(opened, made, data or {}, create_job)
        try:
            await Loop(opened, job, package, is_strange=bool(name)).run()
        except asyncio.CancelledError:
            tell_kept(job)
            console.tell(f"  nestor dev {shlex.quote(str(folder))} {address(job)}   continue")
            raise


@dataclass
class Loop:
    """What it has seen and told so far."""

    opened: Session
    job: Object
    package: Package
    is_strange: bool
    """Whether the job may never have had this folder: somebody may have mistaken one for another."""
    map_name: str = ""
    """The ConfigMap with the job's manifest; empty if its application is another one."""
    text: str = ""
    """What the cluster has of the folder."""
    stamps: Stamps = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    async def run(self) -> NoReturn:
        """Until the job is gone, or Ctrl-C. Raises `Failure`."""
        api, name, where = self.opened.api, self.job["metadata"]["name"], self.job["metadata"]["namespace"]
        templates = manifests.name_templates(self.job)
        found = await api.find(kinds.CONFIG_MAP, templates, where) if templates else None
        if found and FILE in (found.get("data") or {}):
            self.map_name, self.text = templates, found["data"][FILE]
        await self._settle()
        async with session.keeping(api, kinds.NESTED_APP_JOB, where, fields=f"metadata.name={name}") as jobs:
            while True:
                async with (
                    nested.reachable(self.opened, self.job) as content,
                    await Api.from_kubeconfig(content) as inside,
                    session.keeping(inside, kinds.POD, None) as pods,
                ):
                    with nested.kubeconfig_file(content) as file:
                        await self._watch(file, jobs, pods)
                self.stamps = {}
                console.tell("lost the connection to the job's cluster; connecting again", mark="retry", style="warn")

    async def _settle(self) -> None:
        """Wait until none of the job's own steps can undo a change."""
        with follow.display() as shown:
            async with aclosing(follow.states(self.opened, self.job)) as states:
                async for self.job in states:
                    shown.update(self.job)
                    is_applied = (condition(self.job, conditions.STEPS_APPLIED) or {}).get("status") == "True"
                    if is_applied or find_ending(self.job, until_finished=False):
                        return

    async def _watch(self, file: str, jobs: Informer, pods: Informer) -> None:
        """Until the connection is lost."""
        meta, folder = self.job["metadata"], Path(self.package.kustomize or self.package.manifest or "")
        before: Stamps = {}
        while not isinstance(pods.trouble, Unreachable):
            found = jobs.get(meta["name"], meta["namespace"])
            if found is None or found["metadata"]["uid"] != meta["uid"]:
                raise Failure(f"job '{meta['name']}' was deleted")
            self.job, url = found, url_of(found)
            if url and (condition(found, conditions.EXPOSED) or {}).get("status") == "True" and self._is_new(url):
                output.write(f"{url}\n")
            # Looked at: a watch would need a library, and hear nothing of file systems that other machines write to.
            stamps = await asyncio.to_thread(read_stamps, folder)
            if self.stamps != stamps == before:  # nobody is writing at the moment
                self.stamps = stamps
                await self._take(file)
            before = stamps
            for trouble in filter(None, map(describe_trouble, pods)):
                if self._is_new(re.sub(r"\d+", "", trouble)):  # without the times between restarts
                    console.tell(trouble, mark="bad")
            await asyncio.sleep(LOOK_SECONDS)

    def _is_new(self, text: str) -> bool:
        is_new = text not in self.told
        self.told.add(text)
        return is_new

    async def _take(self, file: str) -> None:
        """Apply the folder as it is now. What is wrong with it is told."""
        try:
            text = await asyncio.to_thread(packages.read_manifest, self.package)
            changes = [*compare(self.text, text)]
            gone = [item for sign, item in changes if sign == "-"]
            if gone and self.is_strange:
                listed = ", ".join(f"{item.get('kind')} '{item['metadata']['name']}'" for item in gone)
                session.confirm(f"The folder lacks what the job has. Delete {listed}?")
            await asyncio.to_thread(session.run_kubectl, *APPLY, text=text, KUBECONFIG=file)
            if gone:
                items = json.dumps({"apiVersion": "v1", "kind": "List", "items": gone})
                await asyncio.to_thread(session.run_kubectl, *DELETE, text=items, KUBECONFIG=file)
        except Failure as failure:
            console.tell_problem(failure.message, failure.hint)
            return
        self.text, self.is_strange = text, False
        for sign, item in changes:
            console.tell(f"{sign} {item.get('kind')} '{item['metadata']['name']}'")
        console.tell(f"applied, {len(changes)} changed", mark="good")
        if self.map_name:
            try:
                await self._keep(text)
            except ApiError as error:
                console.tell_problem(f"the job's ConfigMap does not have the change: {error.message}")

    async def _keep(self, text: str) -> None:
        """Let the job have it as its application, and run it if its own steps have failed."""
        api, meta = self.opened.api, self.job["metadata"]
        await api.patch(kinds.CONFIG_MAP, self.map_name, meta["namespace"], {"data": {FILE: text}})
        if (condition(self.job, conditions.SUCCEEDED) or {}).get("reason") == conditions.STEP_FAILED:
            self.job = await api.patch(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], manifests.build_rerun(now()))
            await self._settle()
