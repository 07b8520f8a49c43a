"""Decisions are short, whole, and numbered once."""

from pathlib import Path

import pytest

from tests.reference import decisions

FILES = decisions.list_files()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_decision_is_short_and_whole(file: Path) -> None:
    text = file.read_text()
    head = decisions.HEAD.match(text)
    assert head is not None
    assert head["area"] in decisions.AREAS
    assert file.name.startswith(f"{head['number'] or 'new'}-")
    assert "- **Choice**: " in text
    lines = text.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 150


def test_no_number_is_given_twice() -> None:
    numbers = [file.name[:4] for file in FILES if file.name[:4].isdigit()]
    assert sorted(set(numbers)) == numbers
    assert len(numbers) <= 120
