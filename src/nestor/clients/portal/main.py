"""The process: what it serves, to whom, and how it exits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from nestor.clients.portal.people import People
from nestor.clients.portal.settings import Settings, parse
from nestor.clients.ui import guard
from nestor.clients.ui.guard import Handler
from nestor.clients.ui.server import ADDRESS, build_app, build_runner
from nestor.kube import Api
from nestor.kube.process import run_until_signal, set_up_log
from nestor.kube.serving.pages import METRICS, Pages

log = logging.getLogger(__name__)

MANAGER = "nestor-portal"


def main(arguments: list[str]) -> int:
    """Serve until a signal comes. Returns 1 if that fails."""
    set_up_log()
    settings = parse(arguments)
    try:
        asyncio.run(run_until_signal(run(settings)))
    except Exception:
        log.exception("exiting: a part of the process stopped unexpectedly")
        return 1
    return 0


async def run(settings: Settings) -> None:
    """Serve until cancelled. Loopback only: whoever reached the port could say to be anybody."""
    async with await Api.connect(settings.kubeconfig, manager=MANAGER) as api:
        people = People(api, settings)
        runner = build_runner(build_app(people, _build_check(settings)))
        await runner.setup()
        try:
            await web.TCPSite(runner, ADDRESS, settings.port).start()
            log.info("serving %s://%s on port %d of %s", settings.scheme, settings.host, settings.port, ADDRESS)
            probes = {"/readyz": lambda: None, "/healthz": lambda: None}
            await Pages(probes, {METRICS: _write_metrics(people)}).serve(settings.health_port)
        finally:
            try:
                await runner.cleanup()
            finally:
                await people.close()


def _build_check(settings: Settings) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    hosts = frozenset({settings.host})

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        # Other sites may have links to pages, which change nothing: people send each other those of their jobs.
        is_page = request.headers.get("Sec-Fetch-Mode") in (None, "navigate")
        guard.check_request(request, hosts, scheme=settings.scheme, is_linked=is_page)
        return await handler(request)

    return check


def _write_metrics(people: People) -> Callable[[], str]:
    return lambda: f"# TYPE nestor_portal_people gauge\nnestor_portal_people {people.size}\n"
