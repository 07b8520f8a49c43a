"""A job's state in a word, and what its user can do about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.clients.cli.view.facts import Mood, condition, mood

MARKS: dict[Mood, str] = {"good": "✓", "bad": "✗", "warn": "!", "busy": "●", "waiting": "○", "retry": "↻"}
"""States have a sign beside their color: not everybody sees colors."""


@dataclass(frozen=True)
class State:
    """A mood and its word."""

    mood: Mood
    word: str

    @property
    def mark(self) -> str:
        """Its sign."""
        return MARKS[self.mood]


def state_of(job: Object) -> State:
    """Its state as a word for people."""
    feeling, word = mood(job)
    return State(feeling, split_words(word))


def advise(job: Object) -> str:
    """What its user can do about what it waits for; empty if there is nothing to do."""
    ready = condition(job, conditions.READY) or {}
    if ready.get("status") == "True" or state_of(job).mood not in ("bad", "warn"):
        return ""
    return conditions.reason_of(ready).advice


def split_words(word: str) -> str:
    """`StepRunning` as `Step running`."""
    parts: list[str] = []
    for character in word:
        if character.isupper() and parts and parts[-1][-1:].islower():
            parts.append(character)
        elif parts:
            parts[-1] += character
        else:
            parts.append(character)
    return " ".join([*parts[:1], *(part if part.isupper() and len(part) > 1 else part.lower() for part in parts[1:])])
