"""The catalog, applications as cards with their icons; and the jobs of a namespace, or of all."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from nestor.api.objects import Object
from nestor.clients.ui import frame, words
from nestor.clients.ui.models import apps, launch
from nestor.clients.ui.models.jobs import build_row, list_newest
from nestor.clients.ui.visitor import List, Visitor, find_visitor
from nestor.kube import Forbidden, kinds

APPS = List(kinds.NESTED_APP)
ALL = "*"
ROWS = 500
"""So many jobs are shown, the newest ones: more make a page slow."""


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
    return _keep(job, is_anywhere=False)


def keep_row_with_namespace(job: Object) -> Object:
    return _keep(job, is_anywhere=True)


def _keep(job: Object, *, is_anywhere: bool) -> Object:
    kept = {key: job["metadata"].get(key) for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    return {"metadata": kept, "row": frame.write("job", build_row(job), is_anywhere)}


class Jobs:
    """The jobs of one namespace, or of all of them (None)."""

    template = "jobs.html"

    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace

    @asynccontextmanager
    async def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        jobs = List(kinds.NESTED_APP_JOB, self._namespace, trim=keep_row if self._namespace else keep_row_with_namespace)
        async with visitor.hub.use(jobs, on_change) as found:
            yield lambda: {
                "rows": [job["row"] for job in list_newest(found, ROWS)],
                "more": max(0, len(found.store) - ROWS),
                "trouble": found.trouble,
                "namespace": self._namespace or ALL,
            }


def _read_namespace(request: web.Request, visitor: Visitor) -> str | None:
    wanted = request.query.get("namespace", "").strip() or visitor.context.namespace
    if wanted == ALL:
        return None
    if not launch.SPACE_FORM.fullmatch(wanted):
        raise web.HTTPBadRequest(reason="That is not the name of a namespace.")
    return wanted


async def show_jobs(request: web.Request) -> web.Response:
    visitor = await find_visitor(request)
    namespace = _read_namespace(request, visitor)
    try:
        return await frame.show(request, Jobs(namespace))
    except Forbidden as error:
        # With the form for another namespace: few people may see all of them.
        nothing = {"rows": [], "more": 0, "namespace": namespace or ALL, "parts": {"live_rows": ""}}
        return frame.render("jobs.html", visitor, status=403, refusal=words.tell(error, is_shared=visitor.is_shared), **nothing)


async def follow_jobs(request: web.Request) -> web.StreamResponse:
    return await frame.stream(request, Jobs(_read_namespace(request, await find_visitor(request))))
