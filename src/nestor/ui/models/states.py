"""A job as people see it: its state in a word, its facts, what happened when, and what can be done with it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from nestor.api import conditions, labels
from nestor.api.words import HOST
from nestor.cli.view.facts import Mood, condition, describe_app, is_over, mood, pick_line, url_of
from nestor.objects import Object, annotations_of, is_terminating, labels_of, spec_of, status_of
from nestor.ui.models.inputs import is_secret
from nestor.ui.pool import once
from nestor.values import dataclass

MARKS: dict[Mood, str] = {"good": "✓", "bad": "✗", "warn": "!", "busy": "●", "waiting": "○", "retry": "↻"}
"""States have a sign beside their colour: not everybody sees colours."""
STEP_MOODS: dict[str, Mood] = {"Pending": "waiting", "Running": "busy", "Retrying": "retry", "Succeeded": "good", "Failed": "bad"}
_STAGE_WORDS: dict[str, str] = {
    conditions.ADMITTED: "Accepted",
    conditions.CLUSTER_READY: "Cluster",
    conditions.STEPS_APPLIED: "Steps",
    conditions.EXPOSED: "Address",
    conditions.SUCCEEDED: "End",
}
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What programs write for terminals."""
HIDDEN = "••••••"


@dataclass(frozen=True)
class State:
    """A mood and its word."""

    mood: Mood
    word: str

    @property
    def mark(self) -> str:
        """Its sign."""
        return MARKS[self.mood]


@dataclass(frozen=True)
class Row:
    """A job in a list."""

    name: str
    namespace: str
    path: str
    state: State
    message: str
    app: str
    url: str
    created: str
    owner: str


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


def job_path(namespace: str, name: str, *more: str) -> str:
    """The path of a job's page, or of one below it."""
    return "/".join(["/jobs", *(quote(part, safe="") for part in (namespace, name, *more))])


def state_of(job: Object) -> State:
    """Its state as a word for people."""
    feeling, word = mood(job)
    return State(feeling, _split(word))


def trim_for_rows(job: Object) -> Object:
    """Of a job, what `build_rows` needs: AppDefs may be large, and jobs many."""
    job["metadata"].pop("managedFields", None)
    app = spec_of(job).get("app") or {}
    if app.get("appDef"):
        app["appDef"] = {"name": app["appDef"].get("name")}
    return job


def build_rows(jobs: list[Object], most: int) -> list[Row]:
    """The jobs of a list, the newest `most` of them."""
    ordered = sorted(
        jobs, key=lambda job: (job["metadata"].get("creationTimestamp") or "", job["metadata"]["name"]), reverse=True
    )
    return [once(_build_row, job) for job in ordered[:most]]


def _build_row(job: Object) -> Row:
    meta, state = job["metadata"], state_of(job)
    ready = condition(job, conditions.READY) or {}
    told = "" if state.mood == "good" else pick_line(str(ready.get("message") or ""))
    return Row(
        meta["name"],
        meta["namespace"],
        job_path(meta["namespace"], meta["name"]),
        state,
        told,
        describe_app(spec_of(job)),
        open_url(job),
        meta.get("creationTimestamp") or "",
        owner_of(job),
    )


def owner_of(job: Object) -> str:
    """Who made the job; empty if nobody has recorded it."""
    return str(annotations_of(job).get(labels.CREATED_BY) or "")[:200]


_KEEPERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
}
"""Labels and annotations of what makes objects by files that it has."""


def find_keeper(job: Object) -> str:
    """What keeps the job as files say, and may undo what is changed here; empty if nothing is known to."""
    marks = {**labels_of(job), **annotations_of(job)}
    return next((name for key, name in _KEEPERS.items() if marks.get(key)), "")


def open_url(job: Object) -> str:
    """The URL of its first target once that answers, if it is one that a browser may be sent to."""
    exposed = condition(job, conditions.EXPOSED) or {}
    is_up = exposed.get("status") == "True" and not is_terminating(job)
    return safe_url(url_of(job)) if is_up else ""


def safe_url(url: Any) -> str:
    """The URL if it is one of the web; empty otherwise: `javascript:` is one, too."""
    try:
        found = urlsplit(str(url or ""))
    except ValueError:
        return ""
    return str(url) if found.scheme in ("http", "https") and found.hostname else ""


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
        feeling: Mood = "bad" if reason.needs == "user" or is_end else "warn" if reason.needs == "somebody" else reason.activity
        state = State(feeling, _split(str(found.get("reason") or "")))
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
        _COLOURS.sub("", str(step.get("message") or "")) if feeling in ("bad", "retry") else "",
    )


def advise(job: Object) -> str:
    """What its user can do about what it waits for; empty if there is nothing to do."""
    ready = condition(job, conditions.READY) or {}
    if ready.get("status") == "True" or state_of(job).mood not in ("bad", "warn"):
        return ""
    return conditions.reason_of(ready).advice


def list_parameters(job: Object) -> list[tuple[str, str]]:
    """What it was given, by name; without passwords."""
    given: Mapping[str, Any] = spec_of(job).get("parameters") or {}
    declared = _find_declared(job)
    found = [(name, HIDDEN if is_secret(name, _type_of(declared, name)) else _show(value)) for name, value in given.items()]
    secret = ((spec_of(job).get("parametersFrom") or {}).get("secretRef") or {}).get("name")
    return found + ([("further values", f"from Secret '{secret}', not shown")] if secret else [])


def _type_of(declared: Any, name: str) -> Any:
    found = declared.get(name) if isinstance(declared, dict) else None
    return found.get("type") if isinstance(found, dict) else None


def _find_declared(job: Object) -> Any:
    spec = spec_of(job)
    commands = ((spec.get("app") or {}).get("appDef") or {}).get("commands")
    chosen = status_of(job).get("command") or spec.get("command")
    command = commands.get(chosen) if isinstance(commands, dict) else None
    return command.get("parameters") if isinstance(command, dict) else None


def _show(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 300 else text[:299] + "…"


@dataclass(frozen=True)
class Actions:
    """What can be done with a job now."""

    suspend: bool
    resume: bool
    rerun: bool
    rerun_empties: bool
    """Whether running it again deletes its data."""
    extend: bool
    delete: bool


def list_actions(job: Object) -> Actions:
    """By its state alone; whether the user may is the API server's to say."""
    going, over, rests = not is_terminating(job), is_over(job), bool(spec_of(job).get("suspend"))
    return Actions(
        suspend=going and not over and not rests,
        resume=going and not over and rests,
        rerun=going,
        rerun_empties=over,
        extend=going,
        delete=going,
    )


def list_counts(job: Object) -> list[tuple[str, str]]:
    """Its pods by place, as its status counts them: a place and a sentence."""
    pods = status_of(job).get("pods") or {}
    places = [item for item in pods.get("places") or () if isinstance(item, dict)]
    found = [(name_place(str(item.get("name") or "")), _count(item)) for item in places]
    waiting = int(pods.get("waiting") or 0) - sum(int(item.get("starting") or 0) for item in places)
    if not places and pods:
        found.append((name_place(HOST), f"{pods.get('running', 0)} running"))
    return found + ([("Waiting for a node", f"{waiting}")] if waiting > 0 else [])


def name_place(name: str) -> str:
    """A place's title."""
    return "In this cluster" if name == HOST else f"At backend '{name}'"


def _count(item: Object) -> str:
    starting = f", {item['starting']} starting" if item.get("starting") else ""
    why = f": {item['reason']}" if item.get("reason") else ""
    return f"{item.get('running', 0)} running{starting}{why}"


def _split(word: str) -> str:
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
