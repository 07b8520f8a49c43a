"""What the package of `nestor ui` brings along."""

import re
from pathlib import Path

import pytest

from nestor.clients import ui

HERE = Path(ui.__file__).parent
TEMPLATES = sorted((HERE / "templates").glob("*.html"))
ASSETS = sorted((HERE / "static").glob("*"))


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
