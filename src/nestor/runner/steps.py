"""A step's type → the command that it means, and its execution."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from nestor.kube import Api, ApiError
from nestor.runner import helm, kubectl, kustomize, remote, rendering, script, templates
from nestor.runner.attempt import Attempt
from nestor.runner.command import Outcome, run_command
from nestor.runner.download import Downloader
from nestor.runner.errors import AttemptError, StepError
from nestor.runner.workspace import Desk, Workspace
from nestor.steps import Helm, Plan, Step


@dataclass(frozen=True)
class Prepared:
    """A command and where it runs."""

    command: list[str]
    folder: Path
    environment: dict[str, str]
    sha256: str | None = None


def describe(step: Step) -> str:
    """A step in a few words, for the log."""
    if step.type == "custom":
        return "custom script"
    if step.type == "helm" and step.helm is not None:
        return f"helm release '{step.helm.release}' from {step.path or step.helm.chart}"
    return f"{step.type} {remote.redact(step.path or '') if step.format == 'url' else step.path}"


class Executor:
    """Executes the attempts of one plan."""

    def __init__(self, workspace: Workspace, plan: Plan, api: Api, downloader: Downloader | None = None) -> None:
        self._workspace = workspace
        self._plan = plan
        self._api = api
        self._downloader = downloader or Downloader(plan.remote)

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt, within the step's limit. Raises `StepError` for what no retry can heal."""
        try:
            async with self._workspace.open(attempt) as desk:
                return await self._execute(attempt, desk)
        except AttemptError as error:
            return Outcome(None, str(error))
        except OSError as error:
            return Outcome(None, f"the step cannot be prepared: {error}")
        except ApiError as error:
            return Outcome(None, f"the step cannot be prepared: the nested API: {error}")
        except templates.TemplateError as error:
            raise StepError(f"{error}{self._workspace.explain_missing(attempt.step)}") from error

    async def _execute(self, attempt: Attempt, desk: Desk) -> Outcome:
        limit = attempt.step.timeout_seconds
        start = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                prepared = await self._prepare(attempt, desk)
        except TimeoutError:
            return Outcome(None, f"no end within {limit} s, stopped before its command began")
        outcome = await run_command(
            prepared.command,
            folder=prepared.folder,
            environment=prepared.environment,
            limit=limit,
            show=attempt.show,
            limits=self._workspace.place.limits,
            spent=time.monotonic() - start,
        )
        return replace(outcome, message=outcome.message + kubectl.find_hint(attempt.step, outcome), sha256=prepared.sha256)

    async def _prepare(self, attempt: Attempt, desk: Desk) -> Prepared:
        prepare: dict[str, Callable[[Attempt, Desk], Awaitable[Prepared]]] = {
            "kubectl": self._prepare_kubectl,
            "kustomize": self._prepare_kustomize,
            "custom": self._prepare_custom,
            "helm": self._prepare_helm,
        }
        return await prepare[attempt.step.type](attempt, desk)

    async def _prepare_kubectl(self, attempt: Attempt, desk: Desk) -> Prepared:
        step = attempt.step
        if step.format == "url":
            path, folder, file = "./manifest.yaml", desk.folder, str(desk.folder / "manifest.yaml")
            sha256 = await self._fetch(attempt, Path(file))
            await self._render(attempt, desk, [rendering.File(file, file, remote.redact(step.path or ""))])
        else:
            path, folder, sha256 = templates.resolve(self._workspace.root, step.path or ""), self._workspace.root, ""
            if step.render:
                folder = desk.folder / "rendered"
                await self._render(attempt, desk, _plan_rendering(self._workspace.root, path, folder))
        return Prepared(kubectl.build_command(step, "-f", path), folder, desk.environment, sha256 or None)

    async def _prepare_kustomize(self, attempt: Attempt, desk: Desk) -> Prepared:
        step, folder = attempt.step, self._workspace.root
        path = templates.resolve_kustomization(folder, step.path or "")
        if step.render:
            # All of it, since a kustomization includes folders beside it; only its own files are rendered.
            rendered = desk.folder / "rendered"
            await self._workspace.copy(folder, rendered, attempt.show)
            folder = rendered
            await self._render(
                attempt,
                desk,
                [rendering.File(str(folder / name), str(folder / name), name, "any") for name in _list(folder, path)],
            )
        environment = desk.environment
        for reference, host in await asyncio.to_thread(kustomize.find_remote, folder / path):
            await self._downloader.check_host(host, remote.redact(reference))
        if not self._plan.remote.enabled:
            environment = environment | kustomize.NO_FETCHING
        return Prepared(kubectl.build_command(step, "-k", path), folder, environment)

    async def _prepare_custom(self, attempt: Attempt, desk: Desk) -> Prepared:
        content, file = script.decode(attempt.step), desk.folder / "script"
        if attempt.step.render:
            file.write_bytes(content)
            await self._render(attempt, desk, [rendering.File(str(file), str(file), "the script")])
            content = file.read_bytes()
        command = script.write(content, file)
        folder = await self._workspace.make_writable(attempt.show)
        return Prepared(command, folder, desk.environment | {"NESTOR_TEMPLATES": str(folder)})

    async def _prepare_helm(self, attempt: Attempt, desk: Desk) -> Prepared:
        step, root = attempt.step, self._workspace.root
        assert step.helm is not None
        if step.path is not None:
            chart = templates.resolve_chart(root, step.path)
        else:
            chart = step.helm.chart or ""
            await self._downloader.check_host(helm.find_host(step.helm) or "", f"chart {chart}")
        values = await self._prepare_values(attempt, desk, step.helm, root)
        if count := await helm.forget_pending(self._api, step, step.helm):
            attempt.show(f"helm was ended in the middle of an earlier attempt: unfinished revisions forgotten: {count}")
        return Prepared(helm.build_command(step, step.helm, chart, values), root, desk.environment)

    async def _prepare_values(self, attempt: Attempt, desk: Desk, release: Helm, root: Path) -> list[Path]:
        """The files of a release's values; the later one wins."""
        own = helm.write_values(release, desk.folder / "values.json")
        files = [root / templates.resolve_file(root, name) for name in release.values_files]
        if not attempt.step.render:
            return [*files, *own]
        rendered = [desk.folder / f"values-{index}.yaml" for index, _ in enumerate(files)]
        pairs = zip(release.values_files, files, rendered, strict=True)
        await self._render(
            attempt,
            desk,
            [
                *(rendering.File(str(old), str(new), name) for name, old, new in pairs),
                *(rendering.File(str(file), str(file), "values", "values") for file in own),
            ],
        )
        return [*rendered, *own]

    async def _fetch(self, attempt: Attempt, target: Path) -> str:
        step = attempt.step
        fetched = await self._downloader.fetch(step.path or "", target, sha256=step.sha256, limit=step.timeout_seconds)
        attempt.show(f"fetched {fetched.size} bytes, sha256 {fetched.sha256}")
        return fetched.sha256

    async def _render(self, attempt: Attempt, desk: Desk, files: list[rendering.File]) -> None:
        if attempt.step.render and files:
            limit = attempt.step.timeout_seconds
            await rendering.render(self._plan, files, desk.folder, limit, self._workspace.place.limits)


def _plan_rendering(root: Path, path: str, folder: Path) -> list[rendering.File]:
    """A manifest, or those that kubectl reads in a folder, each to its place below `folder`."""
    sources = [root / path]
    if sources[0].is_dir():
        sources = [entry for entry in sorted(sources[0].iterdir()) if entry.suffix in templates.SUFFIXES and entry.is_file()]
    names = [str(source.relative_to(root)) for source in sources]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    return [rendering.File(str(root / name), str(folder / name), name) for name in names]


def _list(root: Path, path: str) -> list[str]:
    """The files below `path`, links left out: they lead to files that are rendered where they are."""
    names = templates.list_files(root / path, limit=templates.ENTRIES_LIMIT)
    return [str(Path(path, name)) for name in names if not (root / path / name).is_symlink()]
