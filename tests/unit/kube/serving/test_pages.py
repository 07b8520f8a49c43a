"""What probes and Prometheus are told, and that nobody else can do any harm."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import NoReturn

import aiohttp
import pytest

from nestor.kube.serving import http
from nestor.kube.serving.pages import Pages
from tests.integration.apiserver import free_ports
from tests.waiting import eventually


class Server:
    """A running server; `problem` is what is wrong."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.problem: str | None = None
        self.task: asyncio.Task[None] | None = None

    async def say(self, request: bytes) -> bytes:
        """What it answers until it closes the connection."""
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(request)
            try:
                return await reader.read()
            finally:
                writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """One probe, and metrics."""
    (port,) = free_ports(1)
    made = Server(port)
    task = made.task = asyncio.create_task(Pages({"/readyz": lambda: made.problem}, {"/metrics": lambda: "up 1\n"}).serve(port))

    async def is_up() -> bool:
        with contextlib.suppress(OSError):
            return bool(await made.say(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"))
        return False

    await eventually(is_up)
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("method", "path", "problem", "status", "text"),
    [
        ("GET", "/readyz", None, 200, "ok"),
        ("GET", "/readyz?verbose", None, 200, "ok"),
        ("GET", "/readyz", "no DNS · yet", 503, "no DNS · yet"),
        ("GET", "/metrics", "no DNS", 200, "up 1\n"),
        ("GET", "/other", None, 404, "not found"),
        ("POST", "/readyz", None, 405, "only GET"),
    ],
)
async def test_pages(server: Server, method: str, path: str, problem: str | None, status: int, text: str) -> None:
    server.problem = problem
    url = f"http://127.0.0.1:{server.port}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
        assert (answer.status, await answer.text()) == (status, text)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("request_", "begin"),
    [
        pytest.param(b"\x16\x03\x01\x02\r\n\r\n", b"", id="TLS"),
        pytest.param(b"GET / HTTP/2\r\n\r\n", b"", id="another version"),
        pytest.param(b"GET /readyz HTTP/1.0\r\n\r\n", b"HTTP/1.1 200", id="an old client"),
        pytest.param(b"x" * 200_000, b"", id="without end"),
    ],
)
async def test_who_does_not_speak_http(server: Server, request_: bytes, begin: bytes) -> None:
    with contextlib.suppress(ConnectionResetError):
        assert (await server.say(request_)).startswith(begin)
    assert await server.say(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")


async def test_who_says_nothing_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_HEAD_SECONDS", 0.05)
    assert await server.say(b"GET") == b""


async def test_none_is_left_open_at_the_end(server: Server) -> None:
    """Also one whose caller has said nothing yet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    assert await server.say(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")  # so the one before it is accepted by now
    assert server.task is not None
    server.task.cancel()
    await asyncio.gather(server.task, return_exceptions=True)
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()


async def test_a_page_that_fails_is_told_and_ends_only_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)

    def fail() -> NoReturn:
        raise ValueError("broken")

    made = Server(port)
    task = asyncio.create_task(Pages({"/readyz": lambda: None}, {"/metrics": fail}).serve(port))

    async def is_up() -> bool:
        with contextlib.suppress(OSError):
            return bool(await made.say(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"))
        return False

    await eventually(is_up)
    assert await made.say(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n") == b""
    assert "broken" in caplog.text
    assert "200" in (await made.say(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")).decode()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
