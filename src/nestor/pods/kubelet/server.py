"""The kubelet API server: checks the caller, finds the pod, and passes the request to the provider."""

import asyncio
import re
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from nestor.api.objects import Object
from nestor.kube import ApiError
from nestor.kube.serving import http
from nestor.kube.serving.connections import Connections, pipe_both
from nestor.pods.kubelet import auth, routes
from nestor.pods.providers.base import Backend, Call, Logs, Options
from nestor.pods.providers.errors import InvalidInput, ProviderError
from nestor.pods.providers.host import HostProvider

STREAM_LIMIT = 100
"""Streams of exec, attach and port-forward into pods of one nested cluster that may be open. Each is a connection of its own to
where the pods run; logs are bounded by the client that reads them.
"""
SHARED_LIMIT = 200
"""Such streams into pods of one virtual node's process, which belong to many; and as many logs."""

_OWN_HEADERS = ("authorization", "cookie")
"""The caller's credentials are for this server, and not for the place where pods run."""
_PROTOCOLS = "sec-websocket-protocol"
"""The header in which the client of a web socket may have its token, too."""
_KNOWN_PROTOCOL = re.compile(r"(v[0-9]\.)?(base64\.)?channel\.k8s\.io|SPDY/3\.1\+portforward\.k8s\.io")


@dataclass(frozen=True)
class Served:
    pod: Object
    """The pod as its provider knows it."""
    translate: Callable[[str], str]
    """Replaces the provider's names in an error message by those that the caller knows."""
    problem: str = ""
    """Why nothing can be asked of it yet."""


Find = Callable[[routes.Route], Served | None]
"""Finds the pod of a call; None if it does not exist or does not run."""


class Slots:
    """Places for what stays open, each held by a task. Whoever has fewer of them gets one from whoever has most, whose oldest
    task is cancelled: so nobody is shut out, however many others there are.
    """

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._held: dict[str, dict[asyncio.Task[object] | None, None]] = {}
        """By holder, the oldest first."""

    @contextmanager
    def take(self, who: str) -> Iterator[None]:
        """Hold a place. Raises `ApiError` with status 429 if there is none."""
        if sum(map(len, self._held.values())) >= self._limit and not self._make_room(who):
            raise ApiError(429, "TooManyRequests", f"{self._limit} {self._what} are open already")
        task = asyncio.current_task()
        self._held.setdefault(who, {})[task] = None
        try:
            yield
        finally:
            self._release(who, task)

    def _make_room(self, who: str) -> bool:
        """Take a place from whoever has most, if that leaves him no fewer than `who` has then."""
        most = max(self._held, key=lambda name: len(self._held[name]), default=who)
        if len(self._held.get(most, ())) <= len(self._held.get(who, ())) + 1:
            return False
        oldest = next(iter(self._held[most]))
        self._release(most, oldest)
        if oldest is not None:
            oldest.cancel()
        return True

    def _release(self, who: str, task: asyncio.Task[object] | None) -> None:
        places = self._held.get(who, {})
        places.pop(task, None)
        if not places:
            self._held.pop(who, None)


class KubeletServer:
    """Serves the pods that `find` returns, and no others, to whom `access` lets in. `provider` runs them.

    `is_shared`: their namespaces belong to different tenants, none of whom may hold all that may be open.
    """

    def __init__(self, provider: HostProvider | Backend, find: Find, access: auth.Access, *, is_shared: bool = False) -> None:
        self._provider = provider
        self._find = find
        self._access = access
        self._streams = Slots(SHARED_LIMIT if is_shared else STREAM_LIMIT, "streams into pods of this cluster")
        self._logs = Slots(SHARED_LIMIT, "logs of pods") if is_shared else None
        self._connections = Connections(self._answer, "kubelet API")

    async def serve(self, port: int, build_tls: Callable[[], ssl.SSLContext], address: str = "127.0.0.1") -> None:
        await self._connections.serve(port, build_tls(), address)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await http.read_request(reader)
        if request is None:
            return
        try:
            caller = await self._access.identify(request, writer.get_extra_info("peercert"))
            if request.path == ["healthz"]:
                await http.respond(writer, 200, "ok")
            elif (route := routes.find_route(request.method, request.path)) is None:
                await http.respond(writer, 404, "404 page not found")
            else:
                await self._route(route, request, caller, reader, writer)
        except auth.Denied as denied:
            await http.respond(writer, denied.status, denied.text)

    async def _route(
        self,
        route: routes.Route,
        request: http.Request,
        caller: auth.Caller,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        served = self._find(route)
        # First: which pods there are is nobody's business who may not ask about them.
        await self._access.check(caller, route, served.pod if served else None)
        self._connections.allow()
        if served is None:
            await http.respond(writer, 404, f'pod "{route.pod}" does not exist')
            return
        try:
            if served.problem:
                raise InvalidInput(served.problem)
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
                with self._logs.take(route.namespace) if self._logs else nullcontext():
                    await _stream_logs(self._provider.logs, served.pod, options, reader, writer)
        elif self._provider.streams is None:
            await http.respond(writer, 501, f"{route.subresource} is not supported by this pod's provider")
        elif not request.is_upgrade:
            await http.respond(writer, 400, "Upgrade request required")
        else:
            call = Call(route.subresource, request.method, options, list(_pick_passed(request.headers)), request.rest)
            with self._streams.take(route.namespace):
                async with self._provider.streams.open_stream(served.pod, call) as stream:
                    writer.write(stream.head)
                    await writer.drain()
                    await pipe_both(reader, writer, stream.reader, stream.writer)


async def _stream_logs(
    logs: Logs, pod: Object, options: Options, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Send the log until it ends or the caller hangs up; a followed log may be silent for days."""
    sending = asyncio.create_task(_send(logs, pod, options, writer))
    hangup = asyncio.create_task(_wait_for_hangup(reader))
    try:
        await asyncio.wait([sending, hangup], return_when=asyncio.FIRST_COMPLETED)
    finally:
        hangup.cancel()
        sending.cancel()
        results = await asyncio.gather(sending, hangup, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]


async def _send(logs: Logs, pod: Object, options: Options, writer: asyncio.StreamWriter) -> None:
    async with logs.open_log(pod, options) as pieces:
        writer.write(http.stream_head())
        async for data in pieces:
            writer.write(http.chunk(data))
            await writer.drain()
        writer.write(http.chunk(b""))
        await writer.drain()


async def _wait_for_hangup(reader: asyncio.StreamReader) -> None:
    while await reader.read(4096):
        pass


def _pick_passed(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        known = [item for item in map(str.strip, value.split(",")) if _KNOWN_PROTOCOL.fullmatch(item)]
        if name != _PROTOCOLS and name not in _OWN_HEADERS:
            yield name, value
        elif name == _PROTOCOLS and known:
            yield name, ", ".join(known)
