"""The types of steps, a row each, and an attempt of a step: from its preparation to the end of its command.

What a step means in an AppDef: `nestor.apps.steps.types`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from nestor.apps.runner import download, kustomize, programs, rendering, templates
from nestor.apps.runner.attempt import Attempt, AttemptError, StepError
from nestor.apps.runner.command import Outcome, run_command
from nestor.apps.runner.download import Downloader
from nestor.apps.runner.workspace import Desk, Workspace
from nestor.apps.steps import Helm, Plan, Step, sources
from nestor.kube import Api, ApiError


@dataclass(frozen=True)
class Prepared:
    command: list[str]
    folder: Path
    environment: dict[str, str]
    sha256: str | None = None


@dataclass(frozen=True)
class Execution:
    """What is particular to executing the steps of one type."""

    program: str
    """The subject of the sentence that tells how the command ended."""
    prepare: Callable[[Executor, Attempt, Desk], Awaitable[Prepared]]
    """Make the attempt's command. Raises `StepError` for what no retry can heal, `AttemptError` for what one may."""
    describe: Callable[[Step], str]
    """A step in a few words, for the log."""
    repeat: Callable[[list[str], Outcome], tuple[list[str], str] | None] = lambda _, __: None
    """What to run after a command that failed, before the attempt counts as failed, and why; usually nothing."""


async def _prepare_kubectl(executor: Executor, attempt: Attempt, desk: Desk) -> Prepared:
    step, root = attempt.step, executor.workspace.root
    if step.format == "url":
        path, folder, file = "./manifest.yaml", desk.folder, str(desk.folder / "manifest.yaml")
        fetched = await executor.downloader.fetch(step.path or "", Path(file), sha256=step.sha256, limit=step.timeout_seconds)
        attempt.show(f"fetched {fetched.size} bytes, sha256 {fetched.sha256}")
        sha256: str | None = fetched.sha256
        await executor.render(attempt, desk, [rendering.File(file, file, download.redact(step.path or ""))])
    else:
        path, folder, sha256 = templates.resolve(root, step.path or ""), root, None
        if step.render:
            folder = desk.folder / "rendered"
            await executor.render(attempt, desk, _plan_rendering(root, path, folder))
    return Prepared(programs.build_apply(step, "-f", path), folder, desk.environment, sha256)


def _plan_rendering(root: Path, path: str, folder: Path) -> list[rendering.File]:
    """A manifest, or those that kubectl reads in a folder, each to its place below `folder`."""
    sources = [root / path]
    if sources[0].is_dir():
        sources = [entry for entry in sorted(sources[0].iterdir()) if entry.suffix in templates.SUFFIXES and entry.is_file()]
    names = [str(source.relative_to(root)) for source in sources]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    return [rendering.File(str(root / name), str(folder / name), name) for name in names]


async def _prepare_kustomize(executor: Executor, attempt: Attempt, desk: Desk) -> Prepared:
    step, folder = attempt.step, executor.workspace.root
    path = templates.resolve(folder, step.path or "", "kustomization")
    if step.render:
        # All of it, since a kustomization includes folders beside it; only its own files are rendered.
        rendered = desk.folder / "rendered"
        executor.workspace.copy(folder, rendered, attempt.show)
        folder = rendered
        files = [rendering.File(str(folder / name), str(folder / name), name, "any") for name in _list(folder, path)]
        await executor.render(attempt, desk, files)
    environment = desk.environment
    for reference, host in await asyncio.to_thread(kustomize.find_remote, folder / path):
        await executor.downloader.check_host(host, download.redact(reference))
    if not executor.plan.remote.enabled:
        environment = environment | kustomize.NO_FETCHING
    return Prepared(programs.build_apply(step, "-k", path), folder, environment)


def _list(root: Path, path: str) -> list[str]:
    """The files below `path`; what links lead to is rendered where it is, if it is below `path`."""
    names = templates.list_files(root / path, limit=templates.ENTRIES_LIMIT)
    return [str(Path(path, name)) for name in names if not (root / path / name).is_symlink()]


async def _prepare_custom(executor: Executor, attempt: Attempt, desk: Desk) -> Prepared:
    content, file = sources.decode_script(attempt.step.cmd or ""), desk.folder / "script"
    if attempt.step.render:
        file.write_bytes(content)
        await executor.render(attempt, desk, [rendering.File(str(file), str(file), "the script")])
        content = file.read_bytes()
    command = programs.write_script(content, file)
    folder = executor.workspace.make_writable(attempt)
    return Prepared(command, folder, desk.environment | {"NESTOR_TEMPLATES": str(folder)})


async def _prepare_helm(executor: Executor, attempt: Attempt, desk: Desk) -> Prepared:
    step, root = attempt.step, executor.workspace.root
    assert step.helm is not None
    if step.path is not None:
        chart = templates.resolve(root, step.path, "chart")
    else:
        chart = step.helm.chart or ""
        await executor.downloader.check_host(programs.find_chart_host(step.helm) or "", f"chart {chart}")
    values = await _prepare_values(executor, attempt, desk, step.helm)
    if count := await programs.forget_pending_releases(executor.api, step, step.helm):
        attempt.show(f"helm was interrupted in an earlier attempt; unfinished revisions removed: {count}")
    return Prepared(programs.build_helm(step, step.helm, chart, values), root, desk.environment)


async def _prepare_values(executor: Executor, attempt: Attempt, desk: Desk, release: Helm) -> list[Path]:
    root = executor.workspace.root
    own = programs.write_helm_values(release, desk.folder / "values.json")
    files = [root / templates.resolve(root, name, "file") for name in release.values_files]
    if not attempt.step.render:
        return [*files, *own]
    rendered = [desk.folder / f"values-{index}.yaml" for index, _ in enumerate(files)]
    pairs = zip(release.values_files, files, rendered, strict=True)
    to_render = [
        *(rendering.File(str(old), str(new), name) for name, old, new in pairs),
        *(rendering.File(str(file), str(file), "values", "values") for file in own),
    ]
    await executor.render(attempt, desk, to_render)
    return [*rendered, *own]


def _describe_path(step: Step) -> str:
    return f"{step.type} {download.redact(step.path or '') if step.format == 'url' else step.path}"


def _describe_helm(step: Step) -> str:
    release = step.helm.release if step.helm else step.name
    return f"helm release '{release}' from {step.path or (step.helm and step.helm.chart)}"


TYPES = {
    "kubectl": Execution("kubectl", _prepare_kubectl, _describe_path, programs.repeat_apply),
    "kustomize": Execution("kubectl", _prepare_kustomize, _describe_path, programs.repeat_apply),
    "custom": Execution("the script", _prepare_custom, lambda _: "custom script"),
    "helm": Execution("helm", _prepare_helm, _describe_helm),
}


class Executor:
    """Executes the attempts of one plan."""

    def __init__(self, workspace: Workspace, plan: Plan, api: Api, downloader: Downloader | None = None) -> None:
        self.workspace, self.plan, self.api = workspace, plan, api
        self.downloader = downloader or Downloader(plan.remote)

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt, within the step's limit. Raises `StepError` for what no retry can heal."""
        try:
            with self.workspace.open(attempt) as desk:
                outcome = await self._execute(attempt, desk)
            if outcome.is_success:
                self.workspace.accept()
            return outcome
        except AttemptError as error:
            return Outcome(None, str(error))
        except OSError as error:
            return Outcome(None, f"the step cannot be prepared: {error}")
        except ApiError as error:
            return Outcome(None, f"the step cannot be prepared: the nested API: {error}")
        except templates.TemplateError as error:
            raise StepError(f"{error}{self.workspace.explain_missing(attempt.step)}") from error

    async def render(self, attempt: Attempt, desk: Desk, files: list[rendering.File]) -> None:
        """What the attempt applies, if its step wants that."""
        if attempt.step.render and files:
            limit = attempt.step.timeout_seconds
            await rendering.render(self.plan, files, desk.folder, limit, self.workspace.place.limits)

    async def _execute(self, attempt: Attempt, desk: Desk) -> Outcome:
        row, limit = TYPES[attempt.step.type], attempt.step.timeout_seconds
        start = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                prepared = await row.prepare(self, attempt, desk)
        except TimeoutError:
            return Outcome(None, f"timed out after {limit} s, before its command started")
        outcome = await self._run(attempt, prepared, start)
        again = None if outcome.is_success else row.repeat(prepared.command, outcome)
        if again is not None and time.monotonic() - start <= limit:
            command, note = again
            attempt.show(note)
            outcome = await self._run(attempt, replace(prepared, command=command), start)
        return replace(outcome, sha256=prepared.sha256)

    async def _run(self, attempt: Attempt, prepared: Prepared, start: float) -> Outcome:
        return await run_command(
            prepared.command,
            folder=prepared.folder,
            environment=prepared.environment,
            limit=attempt.step.timeout_seconds,
            show=attempt.show,
            limits=self.workspace.place.limits,
            spent=time.monotonic() - start,
        )
