"""Jobs as rows of a list. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api import conditions
from nestor.api.objects import Object, spec_of
from nestor.clients.cli.view.facts import condition, describe_app, pick_line
from nestor.clients.ui.models.links import job_path, open_url
from nestor.clients.ui.models.origin import owner_of
from nestor.clients.ui.models.states import State, state_of
from nestor.clients.ui.pool import once


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
