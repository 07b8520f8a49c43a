"""The server: who calls, about which pod, and who answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import h11

from nestor.kube import Api, ApiError, kinds
from nestor.kubelet import auth, http, logs, routes, tunnel
from nestor.objects import Object

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Served:
    """A pod that this server answers for, as it runs elsewhere."""

    pod: Object
    """The pod at the API server that runs it."""
    translate: Callable[[str], str]
    """That server's sentences, in the caller's words."""


Find = Callable[[routes.Route], Served | None]
"""The pod that a call is about; None where there is none, or where it does not run."""


class KubeletServer:
    """Answers for the pods that `find` knows, and for no others. `api` is the server that runs them."""

    def __init__(self, api: Api, find: Find) -> None:
        self._api = api
        self._find = find

    async def serve(self, port: int, access: Path) -> None:
        """Serve on loopback until cancelled; `access` is the folder with the certificates."""
        server = await asyncio.start_server(self._handle, "127.0.0.1", port, ssl=auth.build_tls(access))
        async with server:
            await server.serve_forever()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (OSError, TimeoutError, h11.ProtocolError) as error:
            log.debug("kubelet API: %s", error)
        except asyncio.CancelledError:
            pass  # the process ends
        except Exception:
            log.exception("kubelet API")
        finally:
            await tunnel.close(writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await http.read_request(reader)
        if request is None:
            return
        if not auth.is_caller(writer.get_extra_info("peercert")):
            await http.respond(writer, 403, "Forbidden")
        elif request.path == ["healthz"]:
            await http.respond(writer, 200, "ok")
        elif (route := routes.find_route(request.method, request.path)) is None:
            await http.respond(writer, 404, "404 page not found")
        else:
            await self._route(route, request, reader, writer)

    async def _route(
        self, route: routes.Route, request: http.Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        served = self._find(route)
        if served is None:
            await http.respond(writer, 404, f'pod "{route.pod}" does not exist')
            return
        try:
            await self._stream(route, request, served, reader, writer)
        except ApiError as error:
            await http.respond(writer, error.status, served.translate(error.message))

    async def _stream(
        self,
        route: routes.Route,
        request: http.Request,
        served: Served,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        meta = served.pod["metadata"]
        path = kinds.POD.path(meta["namespace"], quote(meta["name"]), route.subresource)
        query = routes.build_query(route, request.query)
        if route.subresource == "log":
            await logs.stream_logs(self._api, path, query, reader, writer)
        elif not request.is_upgrade:
            await http.respond(writer, 400, "Upgrade request required")
        else:
            target = path + ("?" + urlencode(query) if query else "")
            await tunnel.tunnel(self._api, request, target, reader, writer, served.translate)
