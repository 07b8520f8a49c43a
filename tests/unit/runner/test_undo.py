"""Whatever scripts leave can be removed again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from nestor.runner import undo


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_folders_that_their_owner_may_not_write_to_are_removed() -> None:
    with tempfile.TemporaryDirectory() as outside:
        os.chown(outside, 65532, -1)
        try:
            os.seteuid(65532)
            cache = Path(outside, "cache")
            (cache / "module" / "inner").mkdir(parents=True)
            (cache / "module" / "inner" / "file").touch()
            (cache / "link").symlink_to("/etc")
            for folder in (cache / "module" / "inner", cache / "module", cache):
                folder.chmod(0o500 if folder != cache else 0)
            undo.remove(cache)
            assert not cache.exists()
        finally:
            os.seteuid(0)
    assert Path("/etc").is_dir()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "broken").symlink_to("nowhere")
    for name in ("link", "broken", "missing"):
        undo.remove(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


async def test_going_back_without_an_attempt_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    subject = undo.Undo(tmp_path / "templates", [tmp_path / "missing"])
    await subject.go_back()
    assert (tmp_path / "templates").is_dir()


async def test_a_folder_that_an_attempt_removed_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "file").write_text("first")
    subject = undo.Undo(folder, [tmp_path / "missing"])
    await subject.begin(is_new=False, is_last=False, show=lambda _: None)
    undo.remove(folder)
    await subject.go_back()
    assert (folder / "file").read_text() == "first"
    assert os.listdir(tmp_path) == ["templates"]


async def test_a_folder_that_was_made_for_an_attempt_goes_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    subject = undo.Undo(folder, [])
    await subject.begin(is_new=True, is_last=True, show=lambda _: None)
    folder.mkdir()
    await subject.go_back()
    assert os.listdir(tmp_path) == []
    await subject.begin(is_new=True, is_last=True, show=lambda _: None)
    folder.mkdir()
    await subject.accept()
    await subject.go_back()
    assert folder.is_dir()
