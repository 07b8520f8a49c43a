"""The page's server: which path leads where, and how long it lives."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import web

from nestor.clients.ui import frame, guard
from nestor.clients.ui.guard import Gate
from nestor.clients.ui.pages import actions, job, launch, lists, logs
from nestor.clients.ui.visitor import FIND, Find

ADDRESS = "127.0.0.1"
FORM_BYTES = 2**20
"""A form is not larger."""
_JOB = "/jobs/{namespace}/{job}"
_LOGS = _JOB + "/logs/{part}"


def build_app(find: Find, *middlewares: object) -> web.Application:
    """The pages, for whoever `find` says a request is from. `middlewares` see a request before the pages do."""
    app = web.Application(middlewares=[frame.finish, *middlewares, frame.complete], client_max_size=FORM_BYTES)  # type: ignore[list-item]
    app[FIND] = find
    app[frame.STREAMS] = frame.Streams()
    app.on_shutdown.append(_end_streams)
    app.add_routes(
        [
            web.get("/", partial(frame.show, view=lists.Catalog())),
            web.get("/live", partial(frame.stream, view=lists.Catalog())),
            web.get("/apps/{app}", launch.show),
            web.post("/apps/{app}", launch.create),
            web.get("/apps/{app}/icon", lists.show_icon),
            web.get("/jobs", lists.show_jobs),
            web.get("/jobs/live", lists.follow_jobs),
            web.get(_JOB, job.show),
            web.get(f"{_JOB}/live", job.live),
            web.get(_LOGS, logs.show),
            web.get(f"{_LOGS}/lines", logs.lines),
            web.post(f"{_JOB}/suspend", partial(actions.set_suspend, wanted=True)),
            web.post(f"{_JOB}/resume", partial(actions.set_suspend, wanted=False)),
            web.get(f"{_JOB}/rerun", partial(actions.ask, what="rerun")),
            web.post(f"{_JOB}/rerun", actions.rerun),
            web.post(f"{_JOB}/extend", actions.extend),
            web.get(f"{_JOB}/delete", partial(actions.ask, what="delete")),
            web.post(f"{_JOB}/delete", actions.delete),
            web.static(guard.ASSETS, frame.HERE / "static"),
        ]
    )
    return app


async def _end_streams(app: web.Application) -> None:
    """Pages that are open would keep the server from ending."""
    streams = app[frame.STREAMS]
    for task in streams.copy():
        task.cancel()


def build_runner(app: web.Application) -> web.AppRunner:
    """Serves the pages. One that is closed ends whatever it waits for, and so gives its place back."""
    return web.AppRunner(app, access_log=None, shutdown_timeout=1, handler_cancellation=True)


@asynccontextmanager
async def serving(find: Find, gate: Gate, port: int = 0) -> AsyncIterator[int]:
    """Serve one user on loopback for the length of a `with` block; yields the port. Raises `OSError` if it is taken."""
    with socket.create_server((ADDRESS, port)) as listening:
        opened = listening.getsockname()[1]
        app = build_app(find, guard.build_middleware(gate, guard.list_hosts(opened)))

        async def start(request: web.Request) -> web.Response:
            return guard.sign_in(request, gate)

        app.router.add_get(guard.START, start)
        # Not in the portal, whose token may read no Secrets.
        app.router.add_get(f"{_JOB}/kubeconfig", job.download)
        runner = build_runner(app)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            yield opened
        finally:
            await runner.cleanup()
