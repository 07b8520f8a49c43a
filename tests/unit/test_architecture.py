"""The architecture page: what it sends a newcomer to exists, a change is in no more than three files, and its layers are those
that `make lint` checks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
TABLE = PAGE.partition("## Where to change what")[2].partition("## Glossary")[0]
ROWS = [[cell.strip() for cell in line.split("|")[1:4]] for line in TABLE.splitlines() if line.startswith("| ")][1:]
PLACES = sorted({path for row in ROWS for path in re.findall(r"`([\w./]+)`", row[1])})
TESTS = sorted({path for row in ROWS for path in re.findall(r"`(tests/[\w./]+)`", row[2])})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_change_is_in_three_files_at_most(row: list[str]) -> None:
    assert 1 <= len(re.findall(r"`[\w./<>]+\.(?:py|yaml)`", row[1])) <= 3


@pytest.mark.parametrize("path", PLACES)
def test_a_place_that_the_page_names_exists(path: str) -> None:
    assert any((ROOT / folder / path).exists() for folder in ("src/nestor", "charts/nestor/templates", "."))


@pytest.mark.parametrize("path", TESTS)
def test_a_test_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_layers_are_those_of_the_import_contract() -> None:
    picture = PAGE.partition("**Imports go one way.**")[2].split("```")[1]
    drawn = [
        set(re.findall(r"[a-z]+", re.split(r"\s{4,}", line.strip())[0]))
        for line in picture.splitlines()
        if re.match(r" \w", line)
    ]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [item for item in contracts if item["name"] == "Imports go one way, and every package has its place"]
    layers = [set(line.replace("nestor.", "").split(" | ")) for line in found["layers"]]
    assert [{"__main__"}, *drawn] == layers
