"""`nestor events`: what was reported of a job."""

import datetime

from rich.text import Text

from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.session import Place
from nestor.clients.cli.view import times
from nestor.clients.cli.view.events import read_event, selector
from nestor.kube import Forbidden, kinds

HEAD = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")


@options.acting
async def events(place: Place, name: options.JobName) -> int:
    """List the events of a job and, if you may see them, of its own namespace in the host cluster, the latest last."""
    async with session.opened(place) as opened:
        job = await opened.get_job(name)
        found = await opened.api.list(kinds.EVENT, opened.namespace, fields=selector(job))
        if home := status_of(job).get("namespace"):
            try:
                found += await opened.api.list(kinds.EVENT, home)
            except Forbidden:
                console.tell(f"you have no permission to list events in the job's own namespace '{home}'", mark="warn")
    if found:
        output.print_table(HEAD, build_rows(found, now()))
    else:
        console.tell(f"job '{name}' has no events; the cluster deletes them after some time, mostly an hour")
    return 0


def build_rows(found: list[Object], now: datetime.datetime) -> list[list[str | Text]]:
    """Pure."""
    return [
        [
            times.age(event.time, now),
            Text(console.clean(event.kind), "warn" if event.kind == "Warning" else ""),
            event.reason,
            event.about,
            event.message,
        ]
        for event in sorted(map(read_event, found))
    ]
