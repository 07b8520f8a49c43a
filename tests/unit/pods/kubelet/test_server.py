"""What is answered where a provider cannot do something, or refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube.serving import http
from nestor.pods.kubelet import auth
from nestor.pods.kubelet.routes import Route, find_route
from nestor.pods.kubelet.server import KubeletServer, Served
from nestor.pods.providers.base import Call, Connection, Options
from nestor.pods.providers.errors import InvalidInput, NotFound, ProviderError
from tests.unit.pods.translate.builders import build_host_pod
from tests.waiting import comes_true

POD = build_host_pod()


class Writer:
    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    async def drain(self) -> None:
        pass


class Bare:
    """A provider without any capability."""

    logs = streams = None


class Refusing:
    def __init__(self, error: ProviderError) -> None:
        self._error = error

    @property
    def logs(self) -> Refusing:
        return self

    streams = logs

    @asynccontextmanager
    async def open_log(self, pod: Object, options: Options) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._refuse()

    @asynccontextmanager
    async def open_stream(self, pod: Object, call: Call) -> AsyncIterator[Connection]:
        yield self._refuse()

    def _refuse(self) -> Any:
        raise self._error


def build_call(method: str, path: str, *headers: tuple[str, str], rest: bytes = b"") -> tuple[http.Request, Route]:
    parts = path.split("/")
    route = find_route(method, parts)
    assert route is not None
    return http.Request(method, parts, {}, list(headers), rest), route


async def call(provider: Any, method: str, path: str, *headers: tuple[str, str], rest: bytes = b"") -> str:
    return await ask(build_server(provider), *build_call(method, path, *headers, rest=rest))


def build_server(provider: Any) -> KubeletServer:
    served = Served(POD, lambda text: text.replace("web-x-shop-x-host", "web"))
    return KubeletServer(provider, lambda _: served, auth.ApiServerOnly())


async def ask(server: KubeletServer, request: http.Request, route: Route) -> str:
    writer: Any = Writer()
    await server._route(route, request, auth.Caller(auth.API_SERVER), asyncio.StreamReader(), writer)
    head, _, body = writer.written.decode().partition("\r\n\r\n")
    return f"{head.split(' ')[1]} {body}"


UPGRADE = (("connection", "Upgrade"), ("upgrade", "SPDY/3.1"))


@pytest.mark.parametrize(
    ("method", "path", "headers", "answer"),
    [
        ("GET", "containerLogs/shop/web/app", (), "501 logs are not supported by this pod's provider"),
        ("POST", "exec/shop/web/app", UPGRADE, "501 exec is not supported by this pod's provider"),
        ("POST", "attach/shop/web/app", UPGRADE, "501 attach is not supported by this pod's provider"),
        ("POST", "portForward/shop/web", UPGRADE, "501 portforward is not supported by this pod's provider"),
    ],
)
async def test_what_a_provider_cannot_do(method: str, path: str, headers: tuple[tuple[str, str], ...], answer: str) -> None:
    assert await call(Bare(), method, path, *headers) == answer


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (NotFound("pod web-x-shop-x-host is gone"), "404 pod web is gone"),
        (InvalidInput("no such container"), "400 no such container"),
        (InvalidInput("exec is forbidden", 403), "403 exec is forbidden"),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "containerLogs/shop/web/app"), ("POST", "exec/shop/web/app")])
async def test_what_it_refuses_is_said_in_the_caller_s_words(error: ProviderError, answer: str, method: str, path: str) -> None:
    headers = UPGRADE if method == "POST" else ()
    assert await call(Refusing(error), method, path, *headers) == answer


class Echo(Refusing):
    def __init__(self) -> None:
        self.calls: list[Call] = []

    @asynccontextmanager
    async def open_stream(self, pod: Object, call: Call) -> AsyncIterator[Connection]:
        self.calls.append(call)
        reader = asyncio.StreamReader()
        reader.feed_data(b"more")
        reader.feed_eof()
        yield Connection(b"HTTP/1.1 101 Switching Protocols\r\n\r\nfirst ", reader, cast(Any, Writer()))


async def test_a_stream_begins_with_what_either_side_has_said_already() -> None:
    provider = Echo()
    assert await call(provider, "POST", "exec/shop/web/app", *UPGRADE, rest=b"early") == "101 first more"
    assert provider.calls == [Call("exec", "POST", [("container", "app")], list(UPGRADE), b"early")]


BEARER = "base64url.bearer.authorization.k8s.io.c2VjcmV0"


@pytest.mark.parametrize(
    ("asked", "passed"),
    [
        ("v5.channel.k8s.io, v4.channel.k8s.io", ["v5.channel.k8s.io, v4.channel.k8s.io"]),
        (f"{BEARER},base64.channel.k8s.io", ["base64.channel.k8s.io"]),
        ("v4.base64.channel.k8s.io", ["v4.base64.channel.k8s.io"]),
        ("SPDY/3.1+portforward.k8s.io", ["SPDY/3.1+portforward.k8s.io"]),
        (BEARER, []),
        ("graphql-ws, xchannel.k8s.io, v4.channel.k8s.io.evil", []),
    ],
)
async def test_of_a_web_socket_s_protocols_only_kubernetes_own_are_passed_on(asked: str, passed: list[str]) -> None:
    """A client may put its token there."""
    provider, name = Echo(), "sec-websocket-protocol"
    plain = (("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "x"))
    await call(provider, "GET", "exec/shop/web/app", *plain, (name, asked), ("authorization", "x"))
    assert provider.calls[0].headers == [*plain, *((name, item) for item in passed)]


class Endless(Echo):
    def __init__(self) -> None:
        super().__init__()
        self.readers: list[asyncio.StreamReader] = []

    async def opened(self, count: int) -> None:
        await comes_true(lambda: len(self.readers) == count, limit=10)

    @asynccontextmanager
    async def open_stream(self, pod: Object, call: Call) -> AsyncIterator[Connection]:
        self.calls.append(call)
        self.readers.append(asyncio.StreamReader())
        yield Connection(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", self.readers[-1], cast(Any, Writer()))


async def test_streams_are_bounded_and_those_that_end_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestor.pods.kubelet.server.STREAM_LIMIT", 3)
    request, route = build_call("POST", "exec/shop/web/app", *UPGRADE)
    provider = Endless()
    server = build_server(provider)
    tasks = [asyncio.create_task(ask(server, request, route)) for _ in range(3)]
    await provider.opened(3)
    full = "429 3 streams into pods of this cluster are open already"
    assert await ask(server, request, route) == full
    provider.readers[0].feed_eof()
    assert await tasks[0] == "101 "
    tasks.append(asyncio.create_task(ask(server, request, route)))
    await provider.opened(4)
    assert await ask(server, request, route) == full
    for reader in provider.readers:
        reader.feed_eof()
    await asyncio.gather(*tasks)
    refused = build_server(Refusing(NotFound("gone")))
    answers = [await ask(refused, request, route) for _ in range(5)]
    assert answers == ["404 gone"] * 5


class Following(Refusing):
    def __init__(self) -> None:
        self.open: list[str] = []

    @asynccontextmanager
    async def open_log(self, pod: Object, options: Options) -> AsyncIterator[AsyncIterator[bytes]]:
        async def read() -> AsyncIterator[bytes]:
            yield b"hello"
            await asyncio.Event().wait()

        self.open.append("")
        try:
            yield read()
        finally:
            self.open.pop()


async def test_one_tenants_logs_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a virtual node, where pods of many run."""
    monkeypatch.setattr("nestor.pods.kubelet.server.SHARED_LIMIT", 4)
    provider = Following()
    served = Served(POD, str)
    server = KubeletServer(cast(Any, provider), lambda _: served, auth.ApiServerOnly(), is_shared=True)

    def follow(namespace: str) -> asyncio.Task[str]:
        return asyncio.create_task(ask(server, *build_call("GET", f"containerLogs/{namespace}/web/app")))

    greedy = [follow("greedy") for _ in range(4)]
    await comes_true(lambda: len(provider.open) == 4)
    assert (await follow("greedy")).startswith("429 4 logs of pods are open already")
    modest = follow("modest")
    await asyncio.wait([greedy[0]], timeout=10)
    assert greedy[0].cancelled()
    await comes_true(lambda: len(provider.open) == 4)
    assert not modest.done()
    for task in [*greedy, modest]:
        task.cancel()
    await asyncio.gather(*greedy, modest, return_exceptions=True)


async def test_a_pod_that_does_not_exist_is_told_to_those_who_may_ask() -> None:
    server = KubeletServer(cast(Any, Bare()), lambda _: None, auth.ApiServerOnly())
    assert await ask(server, *build_call("GET", "containerLogs/shop/web/app")) == '404 pod "web" does not exist'


@pytest.mark.parametrize("name", [None, "admin"])
async def test_only_the_api_server_is_answered(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(_: Any) -> http.Request:
        return http.Request("GET", ["healthz"], {}, [], b"")

    monkeypatch.setattr(http, "read_request", read)
    writer: Any = Writer()
    subject = {"subject": ((("commonName", name),),)} if name else None
    writer.get_extra_info = lambda _: subject
    await KubeletServer(cast(Any, Bare()), lambda _: None, auth.ApiServerOnly())._answer(asyncio.StreamReader(), writer)
    assert writer.written.startswith(b"HTTP/1.1 403 ")


async def test_a_stream_needs_an_upgrade() -> None:
    assert await call(Refusing(NotFound("never asked")), "POST", "exec/shop/web/app") == "400 Upgrade request required"
