"""The catalog, applications as cards with their icons; and the jobs of a namespace, or of all."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from aiohttp import web

from nestor.api.objects import Object
from nestor.clients.ui import frame, words
from nestor.clients.ui.models import apps, launch
from nestor.clients.ui.models.jobs import STATES, Choice, build_row, read_choice
from nestor.clients.ui.visitor import List, Visitor, find_visitor
from nestor.kube import Forbidden, kinds

APPS = List(kinds.NESTED_APP)
ALL = "*"
ROWS = 500
"""So many jobs are shown: more make a page slow."""


class Catalog:
    template = "catalog.html"

    @asynccontextmanager
    async def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        async with visitor.hub.use(APPS, on_change) as found:
            yield lambda: {"apps": apps.build_apps(list(found)), "trouble": found.trouble}


async def show_icon(request: web.Request) -> web.Response:
    """`GET /apps/NAME/icon`: a picture of somebody else's, which may do nothing but be seen."""
    visitor = await find_visitor(request)
    found = apps.read_icon(await visitor.api.get(kinds.NESTED_APP, request.match_info["app"]))
    if found is None:
        raise web.HTTPNotFound
    kind, content = found
    headers = {"Cache-Control": "private, max-age=600", "Content-Disposition": "inline"}
    return web.Response(body=content, content_type=kind, headers=headers)


def keep_row(job: Object) -> Object:
    """Of a job, its row: jobs are many, and it is written once for each change, not for each time that a page is."""
    kept = {key: job["metadata"].get(key) for key in ("name", "namespace", "uid", "resourceVersion")}
    row = build_row(job)
    return {"metadata": kept, "row": replace(row, html=frame.write("job", row))}


class Jobs:
    """The jobs of one namespace, or of all of them."""

    template = "jobs.html"

    def __init__(self, choice: Choice) -> None:
        self._choice = choice

    @asynccontextmanager
    async def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        where = None if self._choice.namespace == ALL else self._choice.namespace
        async with visitor.hub.use(List(kinds.NESTED_APP_JOB, where, trim=keep_row), on_change) as found:

            def read() -> dict[str, object]:
                rows = self._choice.pick(job["row"] for job in found)
                shown = {"rows": rows[:ROWS], "count": len(rows), "total": len(found.store), "trouble": found.trouble}
                return shown | {"choice": self._choice}

            yield read


def _read_choice(request: web.Request, visitor: Visitor) -> Choice:
    wanted = request.query.get("namespace", "").strip() or visitor.context.namespace
    if wanted != ALL and not launch.SPACE_FORM.fullmatch(wanted):
        raise web.HTTPBadRequest(reason="That is not the name of a namespace.")
    return read_choice(wanted, request.query)


async def show_jobs(request: web.Request) -> web.Response:
    visitor = await find_visitor(request)
    choice = _read_choice(request, visitor)
    offers = {"states": STATES, "namespaces": await visitor.offer_namespaces()}
    try:
        return await frame.show(request, Jobs(choice), **offers)
    except Forbidden as error:
        # With the form for another namespace: few people may see all of them.
        told = words.tell(error, is_shared=visitor.is_shared)
        return frame.render("jobs.html", visitor, status=403, refusal=told, choice=choice, parts={"live_rows": ""}, **offers)


async def follow_jobs(request: web.Request) -> web.StreamResponse:
    return await frame.stream(request, Jobs(_read_choice(request, await find_visitor(request))))
