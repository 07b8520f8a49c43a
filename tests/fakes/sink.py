"""A server that takes CloudEvents over real HTTP, or whatever else a test wants it to do."""

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from cloudevents.core.bindings import http

from nestor.api.objects import Object
from nestor.api.times import now
from nestor.cluster import certificates

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeSink:
    """What it got. A request that one of `faults` answers counts as `asked`, but not as an event."""

    def __init__(self) -> None:
        self.asked: list[Object] = []
        """The attributes of the event of each request."""
        self.headers: list[dict[str, str]] = []
        """The headers of each request, by their names in lower case."""
        self.events: list[Object] = []
        """The accepted ones: their attributes, and their data as `data`."""
        self.faults: list[Fault] = []
        """Each answers one request, in turn."""
        self.closed = asyncio.Event()
        """Set when the server ends."""

    @asynccontextmanager
    async def serve(self, address: str, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        """Listen for the length of a `with` block; yields the URL."""
        self.closed.clear()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0)
        await runner.setup()
        try:
            await web.TCPSite(runner, address, port, ssl_context=tls, reuse_address=True).start()
            yield f"{'https' if tls else 'http'}://{address}:{runner.addresses[0][1]}/events"
        finally:
            self.closed.set()
            await runner.cleanup()

    def types(self, subject: str = "") -> list[str]:
        """The last words of the types of the events, about one `<namespace>/<job>` or all."""
        return [item["type"].rpartition(".")[2] for item in self.events if subject in ("", item["subject"])]

    async def hang(self, _: web.Request) -> web.StreamResponse:
        """A fault: no answer before the server ends."""
        await self.closed.wait()
        return web.Response(status=503)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        headers = {key.lower(): value for key, value in request.headers.items()}
        event = http.from_http_event(http.HTTPMessage(headers, await request.read()))
        attributes = dict(event.get_attributes())
        self.asked.append(attributes)
        self.headers.append(headers)
        if self.faults:
            return await self.faults.pop(0)(request)
        self.events.append({**attributes, "data": event.get_data()})
        return web.Response(status=202)


def answering(status: int, **headers: str) -> Fault:
    """A fault: this status."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers=headers, text="inner secret")

    return answer


async def hang_up(request: web.Request) -> web.StreamResponse:
    """A fault: the connection ends without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def make_tls(folder: Path, address: str) -> tuple[ssl.SSLContext, str]:
    """A server's TLS, and the authority to trust."""
    authority = certificates.new_authority("sink-ca", now())
    leaf = certificates.new_leaf(authority, "sink", now(), datetime.timedelta(days=1), hosts=[address])
    (folder / "sink.pem").write_bytes(leaf.certificate + leaf.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "sink.pem")
    return tls, authority.certificate.decode()
