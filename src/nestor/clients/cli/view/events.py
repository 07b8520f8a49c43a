"""What was reported of a job, read for people. Pure."""

from dataclasses import dataclass

from nestor.api.objects import Object
from nestor.clients.cli.view.facts import find_time

MESSAGE_LIMIT = 1000
"""Characters. Anybody in a namespace may write an event of a megabyte."""


@dataclass(frozen=True, order=True)
class Event:
    """The latest comes last."""

    time: str
    """When it was seen last."""
    kind: str
    reason: str
    about: str
    message: str
    count: int


def selector(job: Object) -> str:
    """The field selector of the events that are about the job itself."""
    return f"involvedObject.uid={job['metadata']['uid']}"


def read_event(event: Object) -> Event:
    about, series = event.get("involvedObject") or {}, event.get("series") or {}
    return Event(
        find_time(event),
        str(event.get("type") or ""),
        str(event.get("reason") or ""),
        f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}",
        " ".join(str(event.get("message") or "")[:MESSAGE_LIMIT].split()),
        series.get("count") or event.get("count") or 1,
    )
