import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nestor.apps.runner import templates


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "templates"
    (folder / "sub").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a.yml").write_text("a")
    (folder / "sub" / "b.yml").write_text("b")
    (tmp_path / "outside.yml").write_text("secret")
    return folder


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        ("a.yml", "./a.yml"),
        ("./a.yml", "./a.yml"),
        ("sub/b.yml", "./sub/b.yml"),
        ("sub", "./sub"),
        ("sub//", "./sub"),
        (".", "."),
    ],
)
def test_files_and_folders_are_found(root: Path, path: str, resolved: str) -> None:
    assert templates.resolve(root, path) == resolved


def test_a_missing_file_is_told_with_those_there_are(root: Path) -> None:
    with pytest.raises(templates.TemplateError) as refused:
        templates.resolve(root, "x.yml")
    assert str(refused.value) == "template 'x.yml' does not exist in /templates (found: a.yml, sub/b.yml)"


def test_long_lists_of_files_are_cut(root: Path) -> None:
    for number in range(30):
        (root / f"c{number:02}.yml").touch()
    with pytest.raises(templates.TemplateError, match=r"c18\.yml, … 12 more\)$"):
        templates.resolve(root, "x.yml")


def test_an_image_without_templates_is_told(tmp_path: Path) -> None:
    with pytest.raises(templates.TemplateError, match="the image has no folder /templates"):
        templates.resolve(tmp_path / "templates", "a.yml")
    (tmp_path / "templates").mkdir()
    with pytest.raises(templates.TemplateError, match="it is empty"):
        templates.resolve(tmp_path / "templates", "a.yml")


def test_a_folder_without_files_is_refused(root: Path) -> None:
    with pytest.raises(templates.TemplateError, match=r"folder 'empty' has no \.yml, \.yaml, \.json file"):
        templates.resolve(root, "empty")


@pytest.mark.parametrize("path", ["../outside.yml", "/etc/passwd", "sub/../../outside.yml", ""])
def test_paths_are_checked_here_too(root: Path, path: str) -> None:
    with pytest.raises(templates.TemplateError, match="must"):
        templates.resolve(root, path)


def test_links_that_leave_the_folder_are_refused_and_those_inside_are_fine(root: Path) -> None:
    (root / "inside.yml").symlink_to("sub/b.yml")
    (root / "leaves.yml").symlink_to("../outside.yml")
    (root / "folder").symlink_to("..")
    assert templates.resolve(root, "inside.yml") == "./inside.yml"
    for path in ("leaves.yml", "folder", "folder/outside.yml", "."):
        with pytest.raises(templates.TemplateError, match="a link leads outside"):
            templates.resolve(root, path)


def test_a_loop_of_links_is_refused(root: Path) -> None:
    (root / "loop.yml").symlink_to("loop.yml")
    with pytest.raises(templates.TemplateError):
        templates.resolve(root, "loop.yml")


def test_the_links_of_a_config_map_volume_are_inside_and_not_listed(tmp_path: Path) -> None:
    root = tmp_path / "templates"
    (root / "..2026").mkdir(parents=True)
    (root / "..2026" / "web.yml").touch()
    (root / "..data").symlink_to("..2026")
    (root / "web.yml").symlink_to("..data/web.yml")
    assert templates.resolve(root, "web.yml") == "./web.yml"
    assert templates.resolve(root, ".") == "."
    assert templates.list_files(root) == ["web.yml"]


@pytest.fixture
def closed() -> Iterator[Path]:
    """A templates folder that the current user may not read, in one that everybody may: as in an image."""
    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "templates"
        (root / "sub").mkdir(parents=True)
        for file in (root / "a.yml", root / "sub" / "b.yml"):
            file.touch()
            file.chmod(0)
        Path(base).chmod(0o755)
        was_root = os.geteuid() == 0
        if was_root:  # whom no mode keeps out
            os.seteuid(65532)
        try:
            yield root
        finally:
            if was_root:
                os.seteuid(0)
            root.chmod(0o700)


@pytest.mark.parametrize("path", ["a.yml", "sub", "sub/b.yml"])
def test_files_of_somebody_else_are_told_with_what_to_do(closed: Path, path: str) -> None:
    with pytest.raises(templates.TemplateError) as refused:
        templates.resolve(closed, path)
    assert str(refused.value).startswith(f"template '{path}' cannot be read by the runner's user {os.geteuid()}")
    assert "chmod -R a+rX /templates" in str(refused.value)


@pytest.mark.parametrize("path", ["a.yml", "sub", ".", "missing.yml"])
def test_so_is_a_folder_of_somebody_else(closed: Path, path: str) -> None:
    owner = os.geteuid()
    os.seteuid(os.getuid())
    closed.chmod(0)
    os.seteuid(owner)
    with pytest.raises(templates.TemplateError, match=f"'{path}' cannot be read by the runner's user {owner}"):
        templates.resolve(closed, path)


def test_any_other_trouble_with_the_file_is_a_fault_of_the_template_too(root: Path) -> None:
    with pytest.raises(templates.TemplateError, match="cannot be read by the runner's user"):
        templates.resolve(root, "x" * 300)
