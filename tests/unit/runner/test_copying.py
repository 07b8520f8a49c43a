from __future__ import annotations

import os
from pathlib import Path

import pytest

from nestor.runner.copying import Copier
from nestor.runner.errors import StepError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "templates"
    (folder / "charts" / "web").mkdir(parents=True)
    (folder / "charts" / "web" / "Chart.yaml").write_text("name: web")
    (folder / "run.sh").write_text("#!/bin/sh")
    (folder / "run.sh").chmod(0o555)
    (folder / ".hidden").write_text("x")
    (tmp_path / "secret").write_text("secret")
    return folder


def copy(source: Path, files_limit: int = 100) -> tuple[Path, list[str]]:
    copier = Copier(source, source.parent / "copy", files_limit=files_limit)
    copier.run()
    return copier.target, copier.left_out


def test_everything_is_copied_and_may_be_written(source: Path) -> None:
    target, left_out = copy(source)
    assert (target / "charts" / "web" / "Chart.yaml").read_text() == "name: web"
    assert (target / ".hidden").exists()
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert left_out == []


def test_links_inside_are_kept_and_those_that_leave_are_left_out(source: Path) -> None:
    (source / "file").symlink_to("charts/web/Chart.yaml")
    (source / "charts" / "folder").symlink_to("web")
    (source / "leaves").symlink_to("../secret")
    (source / "absolute").symlink_to("/etc")
    (source / "nowhere").symlink_to("missing")
    (source / "loop").symlink_to("loop")
    target, left_out = copy(source)
    assert (target / "file").read_text() == "name: web"
    assert (target / "charts" / "folder" / "Chart.yaml").resolve() == target / "charts" / "web" / "Chart.yaml"
    assert not any(os.path.lexists(target / name) for name in ("leaves", "absolute", "nowhere", "loop"))
    assert left_out == [
        "'absolute': a link to outside the folder",
        "'leaves': a link to outside the folder",
        "'loop': a broken link",
        "'nowhere': a broken link",
    ]


def test_a_config_map_volume_is_copied_without_its_own_folders(tmp_path: Path) -> None:
    source = tmp_path / "templates"
    (source / "..2026").mkdir(parents=True)
    (source / "..2026" / "web.yml").write_text("web")
    (source / "..data").symlink_to("..2026")
    (source / "web.yml").symlink_to("..data/web.yml")
    target, left_out = copy(source)
    assert [entry.name for entry in target.iterdir()] == ["web.yml"]
    assert (target / "web.yml").read_text() == "web"
    assert left_out == []


def test_what_is_no_file_is_left_out(source: Path) -> None:
    os.mkfifo(source / "pipe")
    target, left_out = copy(source)
    assert not (target / "pipe").exists()
    assert left_out == ["'pipe': neither a file nor a folder"]


def test_size_and_count_are_limited_before_the_disk_is_full(source: Path) -> None:
    with (source / "sparse").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(StepError, match="is too large for a step that needs a copy of it: at most 512 MiB and 100 files"):
        copy(source)
    (source / "sparse").unlink()
    with pytest.raises(StepError, match="and 4 files"):
        copy(source, files_limit=4)


def test_a_stop_ends_it_early(source: Path) -> None:
    copier = Copier(source, source.parent / "copy")
    copier.stop.set()
    copier.run()
    assert list(copier.target.iterdir()) == []
