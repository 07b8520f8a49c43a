"""`nestor ui` as a command among the others, and what its package brings along."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nestor.clients import ui

HERE = Path(ui.__file__).parent
TEMPLATES = sorted((HERE / "templates").glob("*.html"))
ASSETS = sorted((HERE / "static").glob("*"))


def call(*arguments: str) -> str:
    script = "import sys; from nestor.__main__ import main; sys.argv[1:] = sys.argv[1:]; main()"
    environment = {"PYTHONPATH": str(HERE.parents[2]), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_the_command_line_knows_it() -> None:
    assert re.search(r"\bui\b +Open Nestor in your browser", call("--help"))
    assert "--no-browser" in call("ui", "--help")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_what_the_policy_for_content_forbids(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+\s*=|\sstyle\s*=|<style|javascript:|https?://|\|safe", text)


@pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.name)
def test_no_script_or_style_fetches_anything_from_elsewhere(path: Path) -> None:
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|@import|\beval\(|new Function|document\.write", text)


def test_every_live_part_has_a_place_on_its_page() -> None:
    for path in TEMPLATES:
        text = path.read_text()
        for name in re.findall(r"{% block (live_\w+)", text):
            assert f'id="{name}" data-digest="{{{{ parts.{name} }}}}"' in text, (path.name, name)
