"""A log has one line for each entry, whatever it quotes."""

from __future__ import annotations

import logging

import pytest

from nestor.kube.process.logs import PlainFormatter, escape


def write(message: str, error: BaseException | None = None) -> str:
    """An entry."""
    info = (type(error), error, error.__traceback__) if error else None
    return PlainFormatter().format(logging.LogRecord("nestor.x", logging.WARNING, "x.py", 1, "it says: %s", (message,), info))


@pytest.mark.parametrize(
    "nasty", ["a\n2026-01-01 00:00:00,000 ERROR   nestor: all is lost", "\r\x1b[2J", "\u2028\u202e", "\udc80", "\0"]
)
def test_what_others_say_forges_no_entry(nasty: str) -> None:
    text = write(nasty)
    assert text.isprintable()
    assert len(text.splitlines()) == 1


def test_other_texts_stay_as_they_are() -> None:
    assert write("grüße, 'x' – 5 s").endswith(" WARNING nestor.x: it says: grüße, 'x' – 5 s")
    assert escape("a\tb") == "a\\tb"


def test_an_exception_has_lines_of_its_own_that_look_like_no_entry() -> None:
    try:
        raise ValueError("one\n2026-01-01 00:00:00,000 ERROR   nestor: all is lost\x1b[2J")
    except ValueError as error:
        lines = write("x", error).split("\n")
    assert len(lines) > 3
    assert all(line.startswith("  ") and line.isprintable() for line in lines[1:])
