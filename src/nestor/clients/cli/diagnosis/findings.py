"""One result of a check: a sentence, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["good", "warn", "bad"]


@dataclass(frozen=True)
class Finding:
    """`bad` is what keeps jobs from working, `warn` what may surprise; `advice` says what to do about it."""

    level: Level
    text: str
    advice: str = ""


def good(text: str) -> Finding:
    """Nothing to do."""
    return Finding("good", text)


def warn(text: str, advice: str = "") -> Finding:
    """Works, but."""
    return Finding("warn", text, advice)


def bad(text: str, advice: str) -> Finding:
    """Does not work."""
    return Finding("bad", text, advice)
