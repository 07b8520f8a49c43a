"""The linter of prose: it finds words and groups of words in sentences, and nothing in what is no prose."""

import pytest

from tests import prose

FAULTS = (
    ("Somebody else has the host.", "Somebody"),
    ("The job has a namespace of its\nown.", "of its own"),
    ("It waits for ever.", "for ever"),
    ("The job counts no more.", "no more"),
    ("A user and his job.", "his"),
)
FINE = (
    "`somebody` is a label",
    "```text\nnobody\n```",
    "[a page](nobody.md)",
    "<p class='anew'>{{ told.whatever }} {% if anew %}</p>",
    "no more than 5 pods; another one says something; it goes only there",
)


@pytest.mark.parametrize(("text", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_a_fault_is_found(text: str, words: str) -> None:
    ((line, fault),) = prose.find_in_text(text)
    assert line == 1
    assert fault.startswith(f"'{words}': ")


@pytest.mark.parametrize("text", FINE)
def test_what_is_fine_is_left_alone(text: str) -> None:
    assert list(prose.find_in_text(text)) == []


def test_lines_are_counted_and_code_does_not_shift_them() -> None:
    assert [line for line, _ in prose.find_in_text("a\n```text\nb\n```\nIt begins anew.\n")] == [5]


def test_of_python_only_sentences_count() -> None:
    source = '"""Nobody reads this."""\n\nKEY = "nobody"\nraise ValueError(f"pod {KEY} goes on")\n'
    assert list(prose.find_in_python(source)) == [(4, "'goes on': continue, keep running")]
