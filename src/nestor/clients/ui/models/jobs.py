"""Jobs as rows of a list, with their addresses, and who made and keeps them. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of
from nestor.clients.cli.view.facts import Mood, condition, describe_app, pick_line, url_of
from nestor.clients.ui.models.progress import State, state_of

_KEEPERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
}
"""Labels and annotations of what makes objects by files that it has."""


def job_path(namespace: str, name: str, *more: str) -> str:
    """The path of a job's page, or of one below it."""
    return "/".join(["/jobs", *(quote(part, safe="") for part in (namespace, name, *more))])


def again_path(job: Object) -> str:
    """The path of the form for another job like it; empty if its application is not of the catalog."""
    meta, app = job["metadata"], (spec_of(job).get("appRef") or {}).get("name")
    query = urlencode({"from": f"{meta['namespace']}/{meta['name']}"})
    return f"/apps/{quote(app, safe='')}?{query}" if app else ""


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


def owner_of(job: Object) -> str:
    """Who made the job; empty if nobody has recorded it."""
    return str(annotations_of(job).get(labels.CREATED_BY) or "")[:200]


def find_keeper(job: Object) -> str:
    """What keeps the job as files say, and may undo what is changed here; empty if nothing is known to."""
    marks = {**labels_of(job), **annotations_of(job)}
    return next((name for key, name in _KEEPERS.items() if marks.get(key)), "")


@dataclass(frozen=True)
class Row:
    name: str
    namespace: str
    path: str
    state: State
    message: str
    app: str
    url: str
    created: str
    owner: str
    html: str = ""

    def has(self, words: Iterable[str]) -> bool:
        """Whether it shows all of them. They are in lower case."""
        shown = "\n".join((self.name, self.namespace, self.state.word, self.message, self.app, self.owner)).lower()
        return all(word in shown for word in words)


def build_row(job: Object) -> Row:
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


STATES: dict[str, tuple[str, tuple[Mood, ...]]] = {
    "failed": ("Failed", ("bad",)),
    "blocked": ("Waiting for an administrator", ("warn",)),
    "progress": ("In progress", ("busy", "retry")),
    "ready": ("Ready or completed", ("good",)),
    "idle": ("Suspended or new", ("waiting",)),
}
"""What a list can be limited to."""
TEXT_LIMIT = 100
"""Characters that can be searched for: each job is searched for each word."""
NEWEST = "age"
_COLUMNS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "name": ("Job", lambda row: row.name),
    "namespace": ("Namespace", lambda row: row.namespace),
    "state": ("State", lambda row: row.state.word),
    "app": ("Application", lambda row: row.app.lower()),
    "page": ("Page", lambda row: row.url),
    NEWEST: ("Age", lambda row: row.created),
    "owner": ("By", lambda row: row.owner.lower()),
}
"""By what a list can be sorted; `-name` is the other way round."""


@dataclass(frozen=True)
class Choice:
    """Which jobs a list shows, and in which order: what the query of its address says."""

    namespace: str
    text: str = ""
    state: str = ""
    sort: str = NEWEST

    @property
    def is_limited(self) -> bool:
        return bool(self.text.strip() or self.state)

    def pick(self, rows: Iterable[Row]) -> list[Row]:
        moods, words = STATES[self.state][1] if self.state else None, self.text.lower().split()
        key, is_down = self.sort.removeprefix("-"), self.sort.startswith("-")
        found = [row for row in rows if (moods is None or row.state.mood in moods) and (not words or row.has(words))]
        found.sort(key=lambda row: (row.created, row.name), reverse=True)
        # The youngest has the latest time.
        return sorted(found, key=_COLUMNS[key][1], reverse=is_down != (key == NEWEST))

    def list_columns(self) -> list[tuple[str, str, str, str]]:
        """Key, title, direction if sorted by it, and the path of the list when it is."""
        order = {self.sort.removeprefix("-"): "descending" if self.sort.startswith("-") else "ascending"}
        query = {"namespace": self.namespace, "text": self.text, "state": self.state}
        return [
            (key, title, order.get(key, ""), f"/jobs?{urlencode(query | {'sort': f'-{key}' if key == self.sort else key})}")
            for key, (title, _) in _COLUMNS.items()
        ]


def read_choice(namespace: str, query: Mapping[str, str]) -> Choice:
    """What is not known is as if it were not there."""
    state, sort = query.get("state", ""), query.get("sort", "")
    is_known = sort.removeprefix("-") in _COLUMNS
    return Choice(namespace, query.get("text", "")[:TEXT_LIMIT], state if state in STATES else "", sort if is_known else NEWEST)
