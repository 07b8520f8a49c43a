"""The jobs of a namespace, or of all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from nestor.kube import Forbidden, kinds
from nestor.ui import frame
from nestor.ui.hub import List
from nestor.ui.models import launch, states
from nestor.ui.visitor import Visitor, find_visitor

ALL = "*"


class Jobs:
    """The jobs of one namespace, or of all of them (None)."""

    template = "jobs.html"

    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace

    @asynccontextmanager
    async def open(self, visitor: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        """The table's rows."""
        async with visitor.hub.use(List(kinds.NESTED_APP_JOB, self._namespace), on_change=on_change) as (found,):
            yield lambda: {"rows": states.build_rows(list(found)), "trouble": found.trouble, "namespace": self._namespace or ALL}


def _read(request: web.Request, visitor: Visitor) -> str | None:
    wanted = request.query.get("namespace", "").strip() or visitor.namespace
    if wanted == ALL:
        return None
    if not launch.SPACE_FORM.fullmatch(wanted):
        raise web.HTTPBadRequest(reason="That is not the name of a namespace.")
    return wanted


async def show(request: web.Request) -> web.Response:
    """`GET /jobs?namespace=…`"""
    visitor = await find_visitor(request)
    namespace = _read(request, visitor)
    try:
        return await frame.show(request, Jobs(namespace))
    except Forbidden:
        # Whoever may not see all of them may still see those of their own namespace.
        if namespace is None and request.query.get("namespace") is None:
            raise web.HTTPSeeOther(f"/jobs?namespace={visitor.namespace}") from None
        raise


async def live(request: web.Request) -> web.StreamResponse:
    """`GET /jobs/live?namespace=…`"""
    return await frame.stream(request, Jobs(_read(request, await find_visitor(request))))
