"""`/healthz` and `/readyz`: 503 if a watch has gone silent or a background task died, so that kubelet restarts the process. And
`/metrics` and `/debug/caches`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from nestor.process.caches import CACHES
from nestor.process.probes import METRICS

STALE_SECONDS = 420
"""The server ends a watch after 240 s at most, so a healthy one shows activity more often; the rest is time to reconnect."""
END_SECONDS = 0.5
"""How long the pages may take to end. aiohttp would wait for a minute for a request that came while it ended."""

Check = Callable[[], str | None]
"""Returns what is wrong, or None."""


def build_app(
    is_alive: Check,
    is_ready: Check,
    write_metrics: Callable[[], str] | None = None,
    write_caches: Callable[[], str] | None = None,
) -> web.Application:
    """The pages; those of metrics and caches only if there is something to write."""

    def answer(check: Check) -> Callable[[web.Request], object]:
        async def handle(_: web.Request) -> web.Response:
            problem = check()
            return web.Response(text=(problem or "ok") + "\n", status=503 if problem else 200)

        return handle

    def show(write: Callable[[], str]) -> Callable[[web.Request], object]:
        async def handle(_: web.Request) -> web.Response:
            return web.Response(text=write())

        return handle

    app = web.Application()
    for path, write in ((METRICS, write_metrics), (CACHES, write_caches)):
        if write is not None:
            app.router.add_get(path, show(write))  # type: ignore[arg-type]
    app.router.add_get("/healthz", answer(is_alive))  # type: ignore[arg-type]
    app.router.add_get("/readyz", answer(is_ready))  # type: ignore[arg-type]
    return app


async def serve(app: web.Application, port: int) -> None:
    """Serve until cancelled. It ends soon after that: an operator that has just got the Lease begins to work, and to renew the
    Lease, only when these pages have ended.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=END_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - kubelet probes the pod's address
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
