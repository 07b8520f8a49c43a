"""Copies of the templates."""

import os
import tempfile
from pathlib import Path

import pytest

from nestor.apps.runner import workspace
from nestor.apps.runner.attempt import StepError
from nestor.apps.runner.workspace import Copier


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "templates"
    (folder / "charts" / "web").mkdir(parents=True)
    (folder / "charts" / "web" / "Chart.yaml").write_text("name: web")
    (folder / "run.sh").write_text("#!/bin/sh")
    (folder / "run.sh").chmod(0o555)
    (folder / ".hidden").write_text("x")
    return folder


def copy(source: Path) -> Path:
    copier = Copier(source, source.parent / "copy")
    copier.run()
    assert copier.left_out == []
    return copier.target


def test_everything_is_copied_and_may_be_written_and_links_stay_links(source: Path) -> None:
    (source / "folder").symlink_to("charts/web")
    (source / "away").symlink_to("/etc")
    (source / "loop").symlink_to("loop")
    target = copy(source)
    assert (target / "folder" / "Chart.yaml").read_text() == "name: web"
    assert (target / ".hidden").exists()
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [os.readlink(target / name) for name in ("folder", "away", "loop")] == ["charts/web", "/etc", "loop"]


def test_a_config_map_volume_is_copied_without_its_own_folders(tmp_path: Path) -> None:
    source = tmp_path / "templates"
    (source / "..2026").mkdir(parents=True)
    (source / "..2026" / "web.yml").write_text("web")
    (source / "..data").symlink_to("..2026")
    (source / "web.yml").symlink_to("..data/web.yml")
    target = copy(source)
    assert [entry.name for entry in target.iterdir()] == ["web.yml"]
    assert not (target / "web.yml").is_symlink()
    assert (target / "web.yml").read_text() == "web"


def test_size_and_count_are_limited_before_the_disk_is_full(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (source / "sparse").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(StepError, match="is too large for a step that needs a copy of it: at most 400 MiB and 50000 files"):
        copy(source)
    (source / "sparse").unlink()
    workspace.remove(source.parent / "copy")
    monkeypatch.setattr(workspace, "FILES_LIMIT", 4)
    with pytest.raises(StepError, match="and 4 files"):
        copy(source)


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
            workspace.remove(cache)
            assert not cache.exists()
        finally:
            os.seteuid(0)
    assert Path("/etc").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_may_not_be_read_is_left_out_with_its_name(source: Path) -> None:
    (source.parent / "other").mkdir()
    for path in (source / ".hidden", source / "charts"):
        path.chmod(0)
    os.chown(source.parent / "other", 65532, -1)
    for folder in source.parents[:4]:
        folder.chmod(0o755)
    copier = Copier(source, source.parent / "other" / "copy")
    try:
        os.seteuid(65532)
        copier.run()
    finally:
        os.seteuid(0)
    assert sorted(copier.left_out) == [f"'{source}/{name}': Permission denied" for name in (".hidden", "charts")]


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "broken").symlink_to("nowhere")
    for name in ("link", "broken", "missing"):
        workspace.remove(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]
