"""A job's state in a word, its stages as a time line, and its steps. Pure."""

import re
from dataclasses import dataclass

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.clients.cli.view import facts
from nestor.clients.cli.view.facts import Mood, mood, pick_line

MARKS: dict[Mood, str] = {"good": "✓", "bad": "✗", "warn": "!", "busy": "●", "waiting": "○", "retry": "↻"}
"""States have a sign beside their color: not everybody sees colors."""
_STAGE_WORDS: dict[str, str] = {
    conditions.ADMITTED: "Accepted",
    conditions.CLUSTER_READY: "Cluster",
    conditions.STEPS_APPLIED: "Steps",
    conditions.EXPOSED: "Address",
    conditions.SUCCEEDED: "End",
}
_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What programs write for terminals."""
_WORD_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class State:
    mood: Mood
    word: str

    @property
    def mark(self) -> str:
        return MARKS[self.mood]


def state_of(job: Object) -> State:
    feeling, word = mood(job)
    return State(feeling, split_words(word))


def split_words(word: str) -> str:
    """`StepRunning` as `Step running`."""
    first, *more = _WORD_BREAK.split(word)
    return " ".join([first, *(part if part.isupper() and len(part) > 1 else part.lower() for part in more)])


@dataclass(frozen=True)
class Stage:
    title: str
    state: State
    message: str
    time: str


@dataclass(frozen=True)
class Step:
    name: str
    kind: str
    state: State
    attempts: str
    began: str
    ended: str
    output: str


def list_stages(job: Object) -> list[Stage]:
    return [_build_stage(found) for found in facts.list_stages(job)]


def _build_stage(found: Object) -> Stage:
    kind = str(found["type"])
    word = "done" if found.get("status") == "True" else split_words(str(found.get("reason") or ""))
    state = State(facts.find_stage_mood(found), word)
    message = str(found.get("message") or found.get("reason") or "")
    return Stage(_STAGE_WORDS.get(kind, kind), state, pick_line(message), str(found.get("lastTransitionTime") or ""))


def list_steps(job: Object) -> list[Step]:
    return [_build_step(step) for step in status_of(job).get("steps") or ()]


def _build_step(step: Object) -> Step:
    word = str(step.get("state") or "Pending")
    feeling = facts.STEP_MOODS.get(word, "waiting")
    return Step(
        str(step.get("name") or ""),
        str(step.get("type") or ""),
        State(feeling, word.lower()),
        facts.describe_attempts(step),
        str(step.get("startTime") or ""),
        str(step.get("completionTime") or ""),
        _COLORS.sub("", str(step.get("message") or "")) if feeling in ("bad", "retry") else "",
    )
