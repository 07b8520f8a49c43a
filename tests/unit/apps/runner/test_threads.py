"""No thread writes behind the back of the next attempt."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.workspace import Place, Workspace, run_to_its_end
from nestor.apps.steps import Plan, Step


class Slow:
    """Copies a file when it is let to."""

    def __init__(self) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()
        self.copied = 0
        self._copy = shutil.copy2

    def __call__(self, *given: Any) -> None:
        self.began.set()
        assert self.may_end.wait(60)
        self.copied += 1
        self._copy(*given)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """How files are copied."""
    made = Slow()
    monkeypatch.setattr(shutil, "copy2", made)
    return made


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """Two files in a folder."""
    folder = tmp_path / "templates"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_text(name)
    return folder


async def end(task: asyncio.Task[Any], slow: Slow) -> bool:
    """Cancel it during the first file; whether it had to wait for its thread."""
    await asyncio.to_thread(slow.began.wait, 60)
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    has_waited = not task.done()
    slow.may_end.set()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    return has_waited


async def test_a_copy_of_the_templates_that_is_broken_off_has_ended(tmp_path: Path, templates: Path, slow: Slow) -> None:
    place = Place(templates, tmp_path / "kubeconfig", tmp_path / "work")
    place.work.mkdir()
    step = Step(name="a", type="script", path="a")
    workspace = Workspace(place, Plan(hash="h", steps=(step,)))
    task = asyncio.create_task(workspace.make_writable(Attempt(step, 1, lambda _: None)))
    assert await end(task, slow)
    assert slow.copied == 1


async def test_what_a_thread_returns_and_raises() -> None:
    def fail() -> None:
        raise ValueError("broken")

    assert await run_to_its_end(lambda: 5) == 5
    with pytest.raises(ValueError, match="broken"):
        await run_to_its_end(fail)
