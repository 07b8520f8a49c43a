"""Where steps work: the templates, a copy of them that scripts may write to, and a fresh folder for each attempt.

An attempt of a script begins with what the steps before it left: what a failed attempt wrote is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from nestor.api import labels
from nestor.runner import copying, guard
from nestor.runner.attempt import Attempt, Show
from nestor.runner.errors import AttemptError, StepError
from nestor.steps import Plan, Step
from nestor.steps.types import TYPES

SHOWN_NOTES = 10
KEPT_BYTES = 256 * 2**20
"""Of what steps left, to go back to after a failed attempt: both copies must leave room in the pod's volume."""
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


class _Before(Enum):
    """What an attempt of a script that fails is to be replaced by."""

    TEMPLATES = auto()
    """The image's."""
    KEPT = auto()
    """A copy of what earlier steps left."""
    NOTHING = auto()
    """It did not begin, was the last, or there is too much to copy: the next one goes on from there."""


@dataclass
class _Begun:
    """An attempt of a script that has not succeeded."""

    before: _Before
    others: dict[Path, set[str]]
    """Names that were in the other folders that scripts may write to."""


class Workspace:
    """One runner's. Until a script needs it there is no copy of the templates; from then on all steps work in it, since what a
    script leaves there may be what the next step applies."""

    def __init__(self, place: Place, plan: Plan) -> None:
        self.place = place
        self._plan = plan
        self._copy: Path | None = None
        self._begun: _Begun | None = None

    @property
    def root(self) -> Path:
        """The templates in their current state."""
        return self._copy or self.place.templates

    @property
    def _kept(self) -> Path:
        return self.place.work / "kept"

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
        return self._copy is None and any(TYPES[other.type].is_script for other in earlier)

    async def make_writable(self, attempt: Attempt) -> Path:
        """The copy of the templates for an attempt of a script, as the last step that succeeded left it.

        Raises `StepError` when the templates are too many or too large, `AttemptError` when copying fails.
        """
        await self._go_back()
        begun = self._begun = _Begun(_Before.NOTHING, self._list_others())
        target = self.place.work / "templates"
        if self._copy is not None:
            if attempt.number < attempt.step.max_attempts and await self._keep(target, attempt.show):
                begun.before = _Before.KEPT
            return target
        if self._has_lost(attempt.step):
            attempt.show("another pod ran scripts of earlier steps: what they wrote is not there")
        begun.before = _Before.TEMPLATES
        if self.place.templates.is_dir():
            await self.copy(self.place.templates, target, attempt.show)
        else:
            target.mkdir(exist_ok=True)
        self._copy = target
        return target

    async def accept(self) -> None:
        """The attempt succeeded: what it wrote stays."""
        if self._begun is not None and self._begun.before is _Before.KEPT:
            await asyncio.to_thread(_remove, self._kept)
        self._begun = None

    async def _keep(self, target: Path, show: Show) -> bool:
        """Copy what earlier steps left; whether that was possible."""
        copier = copying.Copier(target, self._kept, bytes_limit=KEPT_BYTES, is_verbatim=True)
        try:
            await asyncio.to_thread(_remove, self._kept)
            await asyncio.to_thread(copier.run)
        except (OSError, StepError):
            await asyncio.to_thread(_remove, self._kept)
            limit = f"{KEPT_BYTES // 2**20} MiB"
            show(f"earlier steps left too much to be kept ({limit}): retries begin with what a failed attempt left")
            return False
        finally:
            copier.stop.set()
        return True

    async def _go_back(self) -> None:
        """Drop what a failed attempt wrote. Cancelled, it is to be called again."""
        begun = self._begun
        if begun is not None and begun.before is not _Before.NOTHING:
            for folder, names in begun.others.items():
                for name in set(_list(folder)) - names:
                    await asyncio.to_thread(_remove, folder / name)
            target = self.place.work / "templates"
            await asyncio.to_thread(_drop, target, self.place.work)
            self._copy = None
            if begun.before is _Before.KEPT:
                self._kept.rename(target)
                self._copy = target
        self._begun = None

    def _list_others(self) -> dict[Path, set[str]]:
        """What is in the folders besides the templates that outlive an attempt."""
        folders = [self.place.work / HOME, *([self.place.temporary] if self.place.temporary else [])]
        return {folder: set(_list(folder)) for folder in folders}

    async def copy(self, source: Path, target: Path, show: Show) -> None:
        """Copy a folder of templates to a new place, in a thread. Raises what `make_writable` does."""
        copier = copying.Copier(source, target)
        try:
            await asyncio.to_thread(_remove, target)
            await asyncio.to_thread(copier.run)
        except OSError as error:
            raise AttemptError(f"the templates cannot be copied to {target}: {error}") from error
        finally:
            copier.stop.set()
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
            await asyncio.to_thread(_remove, folder)

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


def _list(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _drop(folder: Path, parent: Path) -> None:
    """Clear the folder's place at once, whatever is in it, and then remove it."""
    with contextlib.suppress(FileNotFoundError):
        aside = Path(tempfile.mkdtemp(prefix="dropped-", dir=parent))
        folder.rename(aside / folder.name)
        _remove(aside)


def _remove(path: Path) -> None:
    """With everything in it; what is nested too deeply to be removed stays, and counts for the limits."""
    with contextlib.suppress(OSError, RecursionError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            _open_up(path)
            shutil.rmtree(path, ignore_errors=True)


def _open_up(folder: Path) -> None:
    """Scripts leave folders that nobody may write to, as caches of modules are: they are ours all the same."""
    folder.chmod(0o700)
    for name, folders, _ in os.walk(folder):
        for inner in folders:
            path = os.path.join(name, inner)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
