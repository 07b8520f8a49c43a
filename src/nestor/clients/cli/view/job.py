"""One job as a page: what it is, its stages, its steps, its targets. Pure; the same for a terminal and for a file."""

import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nestor.api.class_choice import FALLBACK, find_class_name
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.words import HOST
from nestor.clients.cli.console import Symbols, clean
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import (
    STEP_MOODS,
    Mood,
    describe_app,
    describe_attempts,
    find_stage_mood,
    list_places,
    list_stages,
    mood,
    pick_line,
)

STYLES: dict[Mood, str] = {"good": "good", "bad": "bad", "warn": "warn", "busy": "busy", "waiting": "dim", "retry": "warn"}
MESSAGE_LINES = 6


def render_page(job: Object, now: datetime.datetime, marks: Symbols) -> Group:
    parts: list[RenderableType] = [render_title(job, marks), _indent(_facts(job, now))]
    parts += [Text(), Text("Stages", "head"), _indent(render_stages(job, marks))]
    if status_of(job).get("steps"):
        parts += [Text(), Text("Steps", "head"), _indent(render_steps(job, now, marks))]
    if len(status_of(job).get("targets") or ()) > 1:
        parts += [Text(), Text("Targets", "head"), _indent(_targets(job, marks))]
    return Group(*parts)


def render_title(job: Object, marks: Symbols) -> Text:
    feeling, _ = mood(job)
    return Text.assemble((f"{getattr(marks, feeling)} ", STYLES[feeling]), render_name(job))


def render_name(job: Object) -> Text:
    feeling, word = mood(job)
    name, namespace = job["metadata"]["name"], job["metadata"].get("namespace", "")
    return Text.assemble((name, "name"), (f" in {namespace}", "dim"), "  ", (word, STYLES[feeling]))


def render_stages(job: Object, marks: Symbols) -> Table | Text:
    table = _grid()
    for found in (shown := list_stages(job)):
        feeling = find_stage_mood(found)
        message = clean(pick_line(found.get("message") or found.get("reason") or ""))
        mark = Text(getattr(marks, feeling), STYLES[feeling])
        table.add_row(mark, found["type"], Text(message, "" if feeling != "waiting" else "dim"))
    return table if shown else Text(f"{marks.waiting}  no status reported yet", "dim")


def render_steps(job: Object, now: datetime.datetime, marks: Symbols) -> Group:
    """A line per step, and the last lines of what went wrong below it."""
    steps = status_of(job).get("steps") or []
    names = [clean(step["name"]) for step in steps]
    widths = [max((len(text) for text in column), default=0) for column in (names, [step.get("type", "") for step in steps])]
    parts: list[RenderableType] = []
    for step, name in zip(steps, names, strict=True):
        feeling = STEP_MOODS.get(step.get("state", ""), "waiting")
        seconds = times.seconds_between(step.get("startTime"), step.get("completionTime"), now)
        took = "" if seconds is None else times.short(seconds)
        line = Text.assemble(
            (f"{getattr(marks, feeling)}  ", STYLES[feeling]),
            (name.ljust(widths[0]), "dim" if feeling == "waiting" else ""),
            (f"  {step.get('type', '').ljust(widths[1])}  {took:<6}", "dim"),
            (describe_attempts(step), STYLES[feeling]),
        )
        line.rstrip()
        parts.append(line)
        if feeling in ("bad", "retry") and step.get("message"):
            lines = [line for line in clean(step["message"]).splitlines() if line.strip()]
            said = Text("\n".join(lines[-MESSAGE_LINES:]), STYLES[feeling])
            parts.append(Padding(said, (0, 0, 0, 5), expand=False))
    return Group(*parts)


def _facts(job: Object, now: datetime.datetime) -> Table:
    status, spec = status_of(job), spec_of(job)
    table = _grid()
    command = f", command '{status['command']}'" if status.get("command") else ""
    _fact(table, "App", clean(describe_app(spec) + command))
    if status.get("url"):
        table.add_row(Text("URL", "dim"), Text(clean(status["url"]), "url"))
    _fact(table, "Cluster", _describe_cluster(status, spec))
    pods = status.get("pods") or {}
    if pods:
        _fact(table, "Pods", _describe_pods(pods, list_places(job)))
        for place in list_places(job):
            if place.get("name") != HOST and place.get("reason"):
                _fact(table, "Why there", clean(f"backend '{place.get('name', '')}': {place['reason']}"))
    _fact(table, "Time", _describe_time(job, now))
    _fact(table, "Next step", clean(status.get("nextStep") or ""))
    if status.get("restarts"):
        _fact(table, "Restarts", f"{status['restarts']} of {(spec.get('failurePolicy') or {}).get('maxRestarts', 3)}")
    return table


def _describe_pods(pods: Object, places: list[Object]) -> str:
    text = f"{pods.get('running', 0)} running, {pods.get('waiting', 0)} waiting"
    if not any(item.get("name") != HOST for item in places):
        return text
    return f"{text} ({', '.join(_describe_place(item) for item in places)})"


def _describe_place(place: Object) -> str:
    name = clean(str(place.get("name", "")))
    where = "in the host cluster" if name == HOST else f"at backend '{name}'"
    starting = f" and {place['starting']} starting" if place.get("starting") else ""
    return f"{place.get('running', 0)} running{starting} {where}"


def _fact(table: Table, name: str, value: str) -> None:
    if value:
        table.add_row(Text(name, "dim"), Text(value))


def _describe_cluster(status: Object, spec: Object) -> str:
    parts = [f"Kubernetes {status['kubernetesVersion']}"] if status.get("kubernetesVersion") else []
    parts.append(f"class '{find_class_name({'spec': spec, 'status': status}, FALLBACK)}'")
    if machine := spec.get("machine") or status.get("machine"):
        parts.append(f"machine '{machine}'")
    if status.get("namespace"):
        parts.append(f"namespace {status['namespace']}")
    return ", ".join(parts)


def _describe_time(job: Object, now: datetime.datetime) -> str:
    status = status_of(job)
    text = f"created {times.age(job['metadata'].get('creationTimestamp'), now)} ago"
    ran = times.seconds_between(status.get("startTime"), status.get("completionTime"), now)
    if status.get("completionTime") and ran is not None:
        return f"{text}, ran {times.short(ran)}, ended {times.age(status['completionTime'], now)} ago"
    ready = (status.get("timings") or {}).get("ready")
    waited = times.seconds_between(job["metadata"].get("creationTimestamp"), ready, now) if ready else None
    return text if waited is None else f"{text}, ready after {times.short(waited)}"


def _targets(job: Object, marks: Symbols) -> Table:
    table = _grid()
    for target in status_of(job).get("targets") or ():
        is_ready = bool(target.get("ready"))
        where = f"{target.get('serviceNamespace')}/{target.get('serviceName')}:{target.get('servicePort')}"
        has_url = bool(target.get("url")) and is_ready
        told = Text(clean(target["url"]), "url") if has_url else Text(clean(target.get("message") or ""), "dim")
        table.add_row(Text(marks.good if is_ready else marks.waiting, "good" if is_ready else "dim"), where, told)
    return table


def _grid() -> Table:
    return Table.grid(padding=(0, 2, 0, 0))


def _indent(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)
