"""The server: who calls, about which pod, and who answers."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import quote, urlencode

import h11

from nestor.kube import Api, ApiError, kinds
from nestor.kube.client import Object
from nestor.syncer.caches import Caches
from nestor.syncer.kubelet import auth, http, logs, routes, tunnel
from nestor.syncer.settings import Settings
from nestor.syncer.translate import messages
from nestor.syncer.translate.target import Target

log = logging.getLogger(__name__)


class KubeletServer:
    """Answers for the pods of this nested cluster, and for no others."""

    def __init__(self, host: Api, caches: Caches, target: Target) -> None:
        self._host = host
        self._caches = caches
        self._target = target

    async def serve(self, settings: Settings) -> None:
        """Serve on loopback until cancelled."""
        server = await asyncio.start_server(self._handle, "127.0.0.1", settings.kubelet_port, ssl=auth.build_tls(settings.access))
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
        nested = self._caches.nested_pods.get(route.pod, route.namespace)
        host = self._caches.host_by_uid.get(nested["metadata"]["uid"]) if nested else None
        if nested is None or host is None or (route.uid and route.uid != nested["metadata"]["uid"]):
            await http.respond(writer, 404, f'pod "{route.pod}" does not exist')
            return
        try:
            await self._stream(route, request, host, (reader, writer), nested)
        except ApiError as error:
            await http.respond(writer, error.status, self._translate(error.message, nested, host))

    async def _stream(
        self,
        route: routes.Route,
        request: http.Request,
        host: Object,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        nested: Object,
    ) -> None:
        path = kinds.POD.path(self._target.namespace, quote(host["metadata"]["name"]), route.subresource)
        query = routes.build_query(route, request.query)
        if route.subresource == "log":
            await logs.stream_logs(self._host, path, query, *streams)
        elif not request.is_upgrade:
            await http.respond(streams[1], 400, "Upgrade request required")
        else:
            target = path + ("?" + urlencode(query) if query else "")
            await tunnel.tunnel(self._host, request, target, *streams, lambda text: self._translate(text, nested, host))

    def _translate(self, text: str, nested: Object, host: Object) -> str:
        return messages.translate(text, messages.build_words(nested, self._target, host))
