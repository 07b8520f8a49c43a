"""Jobs as rows of a list, with their addresses, and who made and keeps them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of
from nestor.clients.cli.view.facts import condition, describe_app, pick_line, url_of
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


def list_newest(jobs: Iterable[Object], most: int) -> list[Object]:
    ordered = sorted(
        jobs, key=lambda job: (job["metadata"].get("creationTimestamp") or "", job["metadata"]["name"]), reverse=True
    )
    return ordered[:most]


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
