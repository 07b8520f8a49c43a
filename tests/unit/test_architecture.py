"""The architecture page: what it sends a newcomer to exists, and is no more than three files for a change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/architecture.md").read_text().partition("## Where to change what")[2].partition("## Glossary")[0]
ROWS = [[cell.strip() for cell in line.split("|")[1:4]] for line in TABLE.splitlines() if line.startswith("| ")][1:]
PLACES = sorted({path for row in ROWS for path in re.findall(r"`([\w./]+)`", row[1])})
TESTS = sorted({path for row in ROWS for path in re.findall(r"`(tests/[\w./]+)`", row[2])})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_change_is_in_three_files_at_most(row: list[str]) -> None:
    assert 1 <= len(re.findall(r"`[\w./<>]+\.(?:py|yaml)`", row[1])) <= 3


@pytest.mark.parametrize("path", PLACES)
def test_a_place_that_the_page_names_exists(path: str) -> None:
    assert any((ROOT / folder / path).exists() for folder in ("src/nestor", "charts/nestor/templates"))


@pytest.mark.parametrize("path", TESTS)
def test_a_test_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
