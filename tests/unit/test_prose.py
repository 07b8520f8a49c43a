"""The linter of prose: each of its rules can fail, and what is no prose never does."""

from __future__ import annotations

import re

import pytest

from tests import prose

FAULTS = (
    ("Somebody else has the host.", "Somebody"),
    ("It runs whatever the image holds.", "whatever"),
    ("The job has a namespace of its\nown.", "of its own"),
    ("The user is told why.", "is told"),
    ("The status says so.", "says so"),
    ("Labels are carried to the host.", "carried"),
    ("Besides pods, it has Services.", "Besides"),
    ("The name stays as it is.", "as it is"),
    ("This page says what becomes of each field.", "becomes of"),
    ("The job ends by itself.", "by itself"),
    ("Running pods go on.", "go on"),
    ("The job gets on.", "gets on"),
    ("The port by which it is reached.", "by which"),
    ("It waits for ever.", "for ever"),
    ("The job counts no more.", "no more"),
    ("The field may be left out.", "may be left out"),
    ("The cluster is made anew.", "anew"),
    ("The thief reads Secrets.", "thief"),
    ("A user and his job.", "his"),
    ("It acts in the name of users.", "in the name of"),
    ("The policy is in force.", "in force"),
    ("The operator hears of the change.", "hears of"),
    ("The registry of the house.", "of the house"),
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


def test_each_rule_can_fail() -> None:
    unused = [rule for rule in prose.RULES if not any(re.fullmatch(rule, words, re.IGNORECASE) for _, words in FAULTS)]
    assert unused == []


@pytest.mark.parametrize("text", FINE)
def test_what_is_fine_is_left_alone(text: str) -> None:
    assert list(prose.find_in_text(text)) == []


def test_lines_are_counted_and_code_does_not_shift_them() -> None:
    assert [line for line, _ in prose.find_in_text("a\n```text\nb\n```\nIt begins anew.\n")] == [5]


def test_of_python_only_sentences_count() -> None:
    source = '"""Nobody reads this."""\n\nKEY = "nobody"\nraise ValueError(f"pod {KEY} goes on")\n'
    assert list(prose.find_in_python(source)) == [(4, "'goes on': continue, keep running")]
