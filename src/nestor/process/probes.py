"""The HTTP server for the kubelet's probes and for metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from aiohttp import web

STALE_SECONDS = 300
"""Servers send bookmarks every minute and end watches after 240 s: a watch silent for longer has lost its server."""


async def serve(port: int, probes: Mapping[str, Callable[[], str | None]], metrics: Callable[[], str]) -> None:
    """Answer until cancelled: a path of `probes` with 503 and the problem that its function returns, or with 200 for None."""

    def answer(find_problem: Callable[[], str | None]) -> Callable[[web.Request], object]:
        async def handle(_: web.Request) -> web.Response:
            problem = find_problem()
            return web.Response(text="ok" if problem is None else problem, status=200 if problem is None else 503)

        return handle

    async def tell(_: web.Request) -> web.Response:
        return web.Response(text=metrics())

    app = web.Application()
    for path, find_problem in probes.items():
        app.router.add_get(path, answer(find_problem))  # type: ignore[arg-type]
    app.router.add_get("/metrics", tell)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
