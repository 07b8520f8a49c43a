"""Servers that are not trusted: they may not send us elsewhere, and what they say is not read without end."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.cluster import certificates
from nestor.kube import Api, ApiError, Unreachable, kinds, kubeconfig

Object = dict[str, Any]
LIMIT = 10_000


@dataclass
class Server:
    """An API server of the test's own."""

    url: str = ""
    authority: str = ""
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """It answers by the namespace that it is asked about."""
    now = datetime.datetime.now(datetime.UTC)
    authority = certificates.new_authority("far", now)
    own = certificates.new_leaf(authority, "far", now, hosts=["127.0.0.1"])
    (tmp_path / "own.pem").write_bytes(own.certificate + own.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "own.pem")
    made = Server(authority=authority.certificate.decode())

    async def answer(request: web.Request) -> web.StreamResponse:
        made.asked.append(request.path)
        made.tokens.append(request.headers.get("Authorization", ""))
        if "elsewhere" in request.path:
            raise web.HTTPFound("/latest/meta-data")
        if "error" in request.path:
            return web.Response(status=500, text="x" * (LIMIT + 1))
        if "long" in request.path:
            return web.Response(text='"' + "x" * LIMIT + '"')
        if request.query.get("watch"):
            stream = web.StreamResponse()
            await stream.prepare(request)
            await stream.write(b"x" * (LIMIT + 1))
            await asyncio.Event().wait()
        return web.json_response({"items": [], "metadata": {"resourceVersion": "1"}})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    listening = TestServer(app)
    await listening.start_server(ssl=tls, shutdown_timeout=0.1)
    made.url = f"https://127.0.0.1:{listening.port}"
    yield made
    await listening.close()


async def connect(server: Server, token: Any = lambda: "t") -> Api:
    """A client that does not trust it."""
    content = kubeconfig.build_with_token(server.url, server.authority)
    return (await Api.from_kubeconfig(content, timeout=5, token=token)).with_limit(LIMIT)


async def test_the_token_is_read_for_each_request(server: Server) -> None:
    tokens = iter(["one", "two"])
    async with await connect(server, lambda: next(tokens)) as api:
        for _ in range(2):
            await api.list(kinds.POD, "far")
    assert server.tokens == ["Bearer one", "Bearer two"]


async def test_a_token_that_is_gone_is_an_error_of_the_api(server: Server) -> None:
    def read() -> str:
        raise ApiError(401, "Unauthorized", "Secret 'far' is missing")

    async with await connect(server, read) as api:
        with pytest.raises(ApiError, match="Secret 'far' is missing"):
            await api.list(kinds.POD, "far")
    assert not server.asked


async def test_redirects_are_not_followed(server: Server) -> None:
    async with await connect(server) as api:
        with pytest.raises(Unreachable, match="send us elsewhere"):
            await api.list(kinds.POD, "elsewhere")
    assert server.asked == ["/api/v1/namespaces/elsewhere/pods"]


@pytest.mark.parametrize("space", ["long", "error"])
async def test_answers_are_not_read_without_end(server: Server, space: str) -> None:
    async with await connect(server) as api:
        for client in (api, api.with_metadata_only()):
            with pytest.raises(Unreachable, match=f"more than {LIMIT} bytes"):
                await client.list(kinds.POD, space)


async def test_events_are_not_read_without_end(server: Server) -> None:
    async with await connect(server) as api, asyncio.timeout(10):
        with pytest.raises(Unreachable, match=f"more than {LIMIT} bytes"):
            async for _ in api.watch(kinds.POD, "far", {}):
                pass


async def test_the_servers_certificate_counts(server: Server) -> None:
    other = certificates.new_authority("other", datetime.datetime.now(datetime.UTC)).certificate.decode()
    content = kubeconfig.build_with_token(server.url, other)
    async with await Api.from_kubeconfig(content, timeout=5) as api:
        with pytest.raises(Unreachable):
            await api.list(kinds.POD, "far")
    assert not server.asked
