"""Sets the backend's switches and shows what it was asked, for tests and for people: HTTP on a Unix socket of the machine, which
only its owner may open, so that no pod can. `devcluster.plugin.orders` is the other end."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

from aiohttp import web

from devcluster.plugin.backend import Backend
from devcluster.plugin.switches import Switchboard


class Admin:
    """The routes of the socket. `restart` ends the process and starts it again after so many seconds."""

    def __init__(self, backend: Backend, board: Switchboard, calls: Counter[str], restart: Callable[[float], None]) -> None:
        self._backend, self._board, self._calls, self._restart = backend, board, calls, restart
        self._begun = time.time()

    def application(self) -> web.Application:
        """Serve them."""
        app = web.Application()
        app.router.add_get("/state", self._show)
        app.router.add_patch("/switches", self._change)
        app.router.add_delete("/switches", self._reset)
        app.router.add_post("/restart", self._begin_again)
        return app

    async def _show(self, _: web.Request) -> web.Response:
        pods = [asdict(record) for record in self._backend.records()]
        switches = self._board.now.model_dump(mode="json")
        return web.json_response({"switches": switches, "calls": self._calls, "begun": self._begun, "pods": pods})

    async def _change(self, request: web.Request) -> web.Response:
        try:
            self._board.change(await request.json())
        except ValueError as error:
            return web.Response(status=400, text=str(error))
        return web.Response()

    async def _reset(self, _: web.Request) -> web.Response:
        self._board.reset()
        self._calls.clear()
        return web.Response()

    async def _begin_again(self, request: web.Request) -> web.Response:
        self._restart(float((await request.json())["after"]))
        return web.Response()
