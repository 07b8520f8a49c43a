"""The server: who calls, about which pod, and who answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import h11

from nestor.kube import ApiError
from nestor.kubelet import auth, http, logs, routes
from nestor.objects import Object
from nestor.providers.base import Call, Logs, ProviderError, Streams
from nestor.providers.pipe import close, pipe_both

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Served:
    """A pod that this server answers for, as it runs elsewhere."""

    pod: Object
    """The pod as its provider knows it."""
    translate: Callable[[str], str]
    """The provider's sentences, in the caller's words."""


Find = Callable[[routes.Route], Served | None]
"""The pod that a call is about; None where there is none, or where it does not run."""


class Capable(Protocol):
    """What is asked of a provider here."""

    @property
    def logs(self) -> Logs | None:
        """See `Provider.logs`."""

    @property
    def streams(self) -> Streams | None:
        """See `Provider.streams`."""


class KubeletServer:
    """Answers for the pods that `find` knows, and for no others. `provider` runs them."""

    def __init__(self, provider: Capable, find: Find) -> None:
        self._provider = provider
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
            log.exception("kubelet API: request failed")
        finally:
            await close(writer)

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
        except (ProviderError, ApiError) as error:
            await http.respond(writer, error.status, served.translate(error.message))

    async def _stream(
        self,
        route: routes.Route,
        request: http.Request,
        served: Served,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        options = routes.build_query(route, request.query)
        if route.subresource == "log":
            if self._provider.logs is None:
                await http.respond(writer, 501, "logs are not supported by this pod's provider")
            else:
                await logs.stream_logs(self._provider.logs, served.pod, options, reader, writer)
        elif self._provider.streams is None:
            await http.respond(writer, 501, f"{route.subresource} is not supported by this pod's provider")
        elif not request.is_upgrade:
            await http.respond(writer, 400, "Upgrade request required")
        else:
            call = Call(route.subresource, request.method, options, request.headers, request.rest)
            async with self._provider.streams.open_stream(served.pod, call) as stream:
                writer.write(stream.head)
                await writer.drain()
                await pipe_both(reader, writer, stream.reader, stream.writer)
