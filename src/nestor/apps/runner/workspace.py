"""Where steps work: the templates, a copy of them for each attempt of a script, and a fresh folder for each attempt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from nestor.api import labels
from nestor.apps.runner import guard
from nestor.apps.runner.attempt import Attempt, Show
from nestor.apps.runner.copying import Copier, remove
from nestor.apps.runner.errors import AttemptError
from nestor.apps.steps import Plan, Step
from nestor.apps.steps.types import TYPES

T = TypeVar("T")


async def run_to_its_end(work: Callable[[], T], stop: Callable[[], object] = lambda: None) -> T:
    """`work` in a thread. Who is cancelled meanwhile has `stop` called, and goes on only when the thread has ended: otherwise it
    would still write or remove files while the next attempt begins with them.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([task])
        raise


SHOWN_NOTES = 10
HOME = "home"
HELM_FOLDERS = {"HELM_CACHE_HOME": "cache", "HELM_CONFIG_HOME": "config", "HELM_DATA_HOME": "data"}


@dataclass(frozen=True)
class Place:
    """The folders that the pod has: `templates` is read-only, `work` and `temporary` are small volumes."""

    templates: Path
    kubeconfig: Path
    work: Path
    temporary: Path | None = None

    @property
    def limits(self) -> guard.Limits:
        """What steps may write there."""
        folders = [(self.work, guard.WORK_LIMIT), (self.temporary, guard.TEMPORARY_LIMIT)]
        return guard.Limits(tuple((folder, most) for folder, most in folders if folder is not None))


@dataclass(frozen=True)
class Desk:
    """One attempt's own: a folder that goes with it, and what its processes see of the world."""

    folder: Path
    environment: dict[str, str]


class Workspace:
    """One runner's. Until a script needs it there is no copy of the templates; from then on all steps work in it, since what a
    script leaves there may be what the next step applies. Each attempt of a script has a new copy, at the same path, of what
    the last script that succeeded left.
    """

    def __init__(self, place: Place, plan: Plan) -> None:
        self.place = place
        self._plan = plan
        self._writable = place.work / "templates"
        self._left = place.work / "left"
        """What the last script that succeeded left, while another one is tried."""
        self._source = place.templates
        self._has_copy = self._is_accepted = False

    @property
    def root(self) -> Path:
        """The templates in their current state."""
        return self._writable if self._has_copy else self.place.templates

    def explain_missing(self, step: Step) -> str:
        """What to add when a file is not there that an earlier step of this plan may have written; empty when none can have."""
        if not self._has_lost(step):
            return ""
        return (
            "; files that scripts of earlier steps write last as long as the runner's pod, and this pod has not run them: write "
            f"the file in the step that needs it, or run all steps again with the annotation {labels.RERUN}"
        )

    def _has_lost(self, step: Step) -> bool:
        """Whether scripts before this step ran in another pod."""
        earlier = self._plan.steps[: next((index for index, other in enumerate(self._plan.steps) if other == step), 0)]
        return not self._has_copy and any(TYPES[other.type].is_script for other in earlier)

    async def make_writable(self, attempt: Attempt) -> Path:
        """A new copy of the templates for an attempt of a script.

        Raises `StepError` when the templates are too many or too large, `AttemptError` when copying fails.
        """
        if self._has_lost(attempt.step):
            attempt.show("another pod ran scripts of earlier steps: what they wrote is not there")
        if self._is_accepted and self._writable.is_dir():
            self._writable.rename(self._left)
            self._source = self._left
        self._is_accepted = False
        await self.copy(self._source, self._writable, attempt.show)
        self._has_copy = True
        return self._writable

    async def accept(self) -> None:
        """The attempt succeeded: what it wrote is for the next steps."""
        if self._has_copy:
            self._is_accepted, self._source = True, self.place.templates
            await run_to_its_end(partial(remove, self._left))

    async def copy(self, source: Path, target: Path, show: Show, *, follows: bool = False) -> None:
        """Copy a folder of templates to a new place, in a thread. `follows`: see `Copier`. Raises what `make_writable` does."""
        copier = Copier(source, target, follows)
        try:
            await run_to_its_end(partial(remove, target))
            await run_to_its_end(copier.run, copier.stop.set)
        except OSError as error:
            raise AttemptError(f"the templates cannot be copied to {target}: {error}") from error
        for note in copier.left_out[:SHOWN_NOTES]:
            show(f"left out of the copy of /templates: {note}")
        if len(copier.left_out) > SHOWN_NOTES:
            show(f"left out of the copy of /templates: {len(copier.left_out) - SHOWN_NOTES} more")

    @contextlib.asynccontextmanager
    async def open(self, attempt: Attempt) -> AsyncIterator[Desk]:
        """A fresh folder and environment for the length of a `with` block."""
        home = self.place.work / HOME
        home.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="attempt-", dir=self.place.work))
        try:
            (folder / "tmp").mkdir()
            # A copy: scripts may set its namespace, and helm warns if others can read it.
            kubeconfig = folder / "kubeconfig"
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_bytes(self.place.kubeconfig.read_bytes())
            yield Desk(folder, self._build_environment(attempt, home, folder))
        finally:
            await asyncio.to_thread(remove, folder)

    def _build_environment(self, attempt: Attempt, home: Path, folder: Path) -> dict[str, str]:
        """The step's whole environment: nothing of the host or the runner. Parameters cannot override our variables."""
        return {
            "LANG": "C.UTF-8",
            **self._plan.environment,
            **{f"NESTOR_JOB_{key.upper()}": value for key, value in self._plan.facts.items()},
            **{key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ},
            **{key: str(home / ".helm" / name) for key, name in HELM_FOLDERS.items()},
            "KUBECONFIG": str(folder / "kubeconfig"),
            "HOME": str(home),
            "TMPDIR": str(folder / "tmp"),
            "NESTOR_STEP": attempt.step.name,
            "NESTOR_ATTEMPT": str(attempt.number),
        }
