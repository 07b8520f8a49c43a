"""What a failed attempt of a script wrote is dropped: the next one begins with what the steps before it left."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from enum import Enum, auto
from functools import partial
from pathlib import Path

from nestor.runner import copying
from nestor.runner.attempt import Show
from nestor.runner.errors import StepError
from nestor.runner.threads import run_to_its_end
from nestor.values import dataclass

KEPT_BYTES = 128 * 2**20
"""Of what steps left, to go back to: it shares the pod's volume with what the next attempt writes."""


class _Before(Enum):
    """What the folder held before an attempt."""

    NOTHING = auto()
    """It is made for the attempt."""
    KEPT = auto()
    """What is kept in a copy."""
    LOST = auto()
    """There is no way back: too much to be kept, or no attempt that would need it."""


@dataclass
class _Begun:
    """An attempt that has not succeeded."""

    before: _Before
    others: dict[Path, set[str]]
    """Names that were in the other folders."""


class Undo:
    """Of one folder in which scripts work, whose path stays the same; and of new names in `others`, to which they also write."""

    def __init__(self, folder: Path, others: list[Path]) -> None:
        self._folder = folder
        self._kept = folder.with_name("kept")
        self._others = others
        self._begun: _Begun | None = None

    async def begin(self, *, is_new: bool, is_last: bool, show: Show) -> None:
        """An attempt begins. `is_new`: the folder is still to be made; `is_last`: no attempt follows this one if it fails."""
        begun = self._begun = _Begun(_Before.NOTHING if is_new else _Before.LOST, {other: _list(other) for other in self._others})
        if not (is_new or is_last) and await self._keep(show):
            begun.before = _Before.KEPT

    async def accept(self) -> None:
        """The attempt succeeded: what it wrote stays."""
        if self._begun is not None and self._begun.before is _Before.KEPT:
            await run_to_its_end(partial(remove, self._kept))
        self._begun = None

    async def go_back(self) -> None:
        """Drop what a failed attempt wrote; without one, do nothing. The folder is gone if there was none before the attempt.

        If this is cancelled, it is to be called again.
        """
        begun = self._begun
        if begun is not None and begun.before is not _Before.LOST:
            for other, names in begun.others.items():
                for name in _list(other) - names:
                    await run_to_its_end(partial(remove, other / name))
            await run_to_its_end(partial(_drop, self._folder))
            if begun.before is _Before.KEPT:
                self._kept.rename(self._folder)
        self._begun = None

    async def _keep(self, show: Show) -> bool:
        """Copy what earlier steps left; whether that was possible."""
        copier = copying.Copier(self._folder, self._kept, bytes_limit=KEPT_BYTES, is_verbatim=True)
        try:
            await run_to_its_end(partial(remove, self._kept))
            await run_to_its_end(copier.run, copier.stop.set)
        except (OSError, StepError):
            await run_to_its_end(partial(remove, self._kept))
            limit = f"{KEPT_BYTES // 2**20} MiB"
            show(f"earlier steps left too much to be kept ({limit}): retries begin with what a failed attempt left")
            return False
        return True


def remove(path: Path) -> None:
    """With everything in it; what is nested too deeply to be removed stays, and counts for the limits."""
    with contextlib.suppress(OSError, RecursionError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            _open_up(path)
            shutil.rmtree(path, ignore_errors=True)


def _list(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _drop(folder: Path) -> None:
    """Clear the folder's place at once, whatever is in it, and then remove it."""
    aside = Path(tempfile.mkdtemp(prefix="dropped-", dir=folder.parent))
    with contextlib.suppress(FileNotFoundError):
        folder.rename(aside / folder.name)
    remove(aside)


def _open_up(folder: Path) -> None:
    """Scripts leave folders that nobody may write to, as caches of modules are: they are ours all the same."""
    folder.chmod(0o700)
    for name, folders, _ in os.walk(folder):
        for inner in folders:
            path = os.path.join(name, inner)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
