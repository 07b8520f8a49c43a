"""The catalog: applications as cards, and their icons."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from nestor.clients.ui import frame
from nestor.clients.ui.hub import List
from nestor.clients.ui.models import apps
from nestor.clients.ui.visitor import Visitor, find_visitor
from nestor.kube import kinds

APPS = List(kinds.NESTED_APP)


class Catalog:
    """All applications."""

    template = "catalog.html"

    @asynccontextmanager
    async def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        """The cards."""
        async with visitor.hub.use(APPS, on_change=on_change) as (found,):
            yield lambda: {"apps": apps.build_apps(list(found)), "trouble": found.trouble}


async def show(request: web.Request) -> web.Response:
    """`GET /`"""
    return await frame.show(request, Catalog())


async def live(request: web.Request) -> web.StreamResponse:
    """`GET /live`"""
    return await frame.stream(request, Catalog())


async def icon(request: web.Request) -> web.Response:
    """`GET /apps/NAME/icon`: a picture of somebody else's, which may do nothing but be seen."""
    visitor = await find_visitor(request)
    found = apps.read_icon(await visitor.api.get(kinds.NESTED_APP, request.match_info["app"]))
    if found is None:
        raise web.HTTPNotFound
    kind, content = found
    headers = {"Cache-Control": "private, max-age=600", "Content-Disposition": "inline"}
    return web.Response(body=content, content_type=kind, headers=headers)
