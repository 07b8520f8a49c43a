"""Hop 2 of the protocol: what a plugin answers to interLink's API server."""

import json
from typing import Any

from aiohttp import web

from devcluster.plugin import http, logs
from devcluster.plugin.backend import Backend
from devcluster.plugin.refusals import Refused
from devcluster.plugin.shapes import KNOWN_POD, LOG, PLUGIN_CREATE
from devcluster.plugin.switches import Switchboard
from nestor.api import times


class Plugin:
    """The plugin's routes."""

    def __init__(self, backend: Backend, board: Switchboard) -> None:
        self._backend, self._board = backend, board

    def add_routes(self, app: web.Application) -> None:
        """Serve them."""
        app.router.add_post("/create", self._create)
        app.router.add_post("/delete", self._delete)
        app.router.add_get("/status", self._status)
        app.router.add_get("/getLogs", self._log)
        app.router.add_get("/resources", self._list_peers)

    async def _create(self, request: web.Request) -> web.Response:
        """One pod, or a list of one, as some plugins have it: the answer has the same form."""
        content: Any = await request.json()
        is_list = isinstance(content, list)
        if is_list:
            if len(content) != 1:
                raise Refused("one pod is created at a time")
            (content,) = content
        http.check(content, PLUGIN_CREATE)
        answer = await self._backend.create(content["pod"], content.get("container") or [])
        return web.json_response([answer] if is_list else answer)

    async def _delete(self, request: web.Request) -> web.Response:
        self._backend.delete(await http.read(request, KNOWN_POD))
        return web.Response(text="the pod is being ended")

    async def _status(self, request: web.Request) -> web.Response:
        pods = await http.read_pods(request)
        return web.json_response(self._backend.status(pods))

    async def _log(self, request: web.Request) -> web.StreamResponse:
        asked = await http.read(request, LOG)
        options = logs.read_options(asked.get("Opts") or {}, times.now())
        text = self._backend.log(asked["PodUID"], asked["ContainerName"], options)
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        async for part in text:
            await answer.write(part)
        await answer.write_eof()
        return answer

    async def _list_peers(self, _: web.Request) -> web.Response:
        if self._board.now.peers is None:
            return web.Response(status=404, text="this backend lists no peers")
        return web.Response(text=json.dumps(self._board.now.peers), content_type="application/json")
