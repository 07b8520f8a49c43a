"""How far a job is: its stages as a time line, and its steps. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nestor.api import conditions
from nestor.api.objects import Object, spec_of, status_of
from nestor.clients.cli.view.facts import Mood, condition, pick_line
from nestor.clients.ui.models.states import State, split_words

STEP_MOODS: dict[str, Mood] = {"Pending": "waiting", "Running": "busy", "Retrying": "retry", "Succeeded": "good", "Failed": "bad"}
_STAGE_WORDS: dict[str, str] = {
    conditions.ADMITTED: "Accepted",
    conditions.CLUSTER_READY: "Cluster",
    conditions.STEPS_APPLIED: "Steps",
    conditions.EXPOSED: "Address",
    conditions.SUCCEEDED: "End",
}
_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What programs write for terminals."""


@dataclass(frozen=True)
class Stage:
    """A line of the time line."""

    title: str
    state: State
    message: str
    time: str


@dataclass(frozen=True)
class Step:
    """A step of the application."""

    name: str
    kind: str
    state: State
    attempts: str
    began: str
    ended: str
    output: str


def list_stages(job: Object) -> list[Stage]:
    """What the job has reached, and what it waits for."""
    shown = [found for kind in conditions.STAGES if (found := condition(job, kind))]
    end = condition(job, conditions.SUCCEEDED)
    is_news = end is not None and end.get("message") not in [found.get("message") for found in shown]
    if end is not None and is_news and (end.get("status") != "Unknown" or spec_of(job).get("successPolicy")):
        shown.append(end)
    return [_build_stage(found) for found in shown]


def _build_stage(found: Object) -> Stage:
    kind = str(found["type"])
    if found.get("status") == "True":
        state = State("good", "done")
    else:
        reason = conditions.reason_of(found)
        is_end = kind == conditions.SUCCEEDED and found.get("status") == "False"
        feeling: Mood = "bad" if reason.needs == "user" or is_end else "warn" if reason.needs == "admin" else reason.activity
        state = State(feeling, split_words(str(found.get("reason") or "")))
    message = str(found.get("message") or found.get("reason") or "")
    return Stage(_STAGE_WORDS.get(kind, kind), state, pick_line(message), str(found.get("lastTransitionTime") or ""))


def list_steps(job: Object) -> list[Step]:
    """Its steps in their order."""
    return [_build_step(step) for step in status_of(job).get("steps") or ()]


def _build_step(step: Object) -> Step:
    word = str(step.get("state") or "Pending")
    attempt, most = step.get("attempt", 0), step.get("maxAttempts", 1)
    is_told = most > 1 and (attempt > 1 or word in ("Running", "Retrying", "Failed"))
    feeling = STEP_MOODS.get(word, "waiting")
    return Step(
        str(step.get("name") or ""),
        str(step.get("type") or ""),
        State(feeling, word.lower()),
        f"attempt {attempt} of {most}" if is_told else "",
        str(step.get("startTime") or ""),
        str(step.get("completionTime") or ""),
        _COLORS.sub("", str(step.get("message") or "")) if feeling in ("bad", "retry") else "",
    )
