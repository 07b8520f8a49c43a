"""What probes and Prometheus are told, what a process says of its caches and its work, and that nobody else can do any harm."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, NoReturn, cast

import aiohttp
import pytest

from nestor.kube import Api, Informer, kinds
from nestor.kube.informer import Stream
from nestor.kube.serving import http
from nestor.kube.serving.pages import Pages, write_caches
from tests.integration.apiserver import free_ports
from tests.waiting import eventually


class Server:
    """A running server; the first of `problems` is what is wrong."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.problems: list[str | None] = []
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


ASK = b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"


@contextlib.asynccontextmanager
async def serving(pages: Pages) -> AsyncIterator[Server]:
    (port,) = free_ports(1)
    made = Server(port)
    made.task = asyncio.create_task(pages.serve(port))

    async def is_up() -> bool:
        with contextlib.suppress(OSError):
            return bool(await made.say(ASK))
        return False

    await eventually(is_up)
    yield made
    made.task.cancel()
    await asyncio.gather(made.task, return_exceptions=True)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """One probe, and metrics."""
    problems: list[str | None] = [None]
    async with serving(Pages({"/readyz": lambda: problems[0]}, {"/metrics": lambda: "up 1\n"})) as made:
        made.problems = problems
        yield made


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
    server.problems[0] = problem
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
    assert await server.say(ASK)


async def test_who_says_nothing_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_HEAD_SECONDS", 0.05)
    assert await server.say(b"GET") == b""


async def test_a_page_that_fails_is_told_and_ends_only_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> NoReturn:
        raise ValueError("broken")

    async with serving(Pages({"/readyz": lambda: None}, {"/metrics": fail})) as made:
        assert await made.say(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n") == b""
        assert "broken" in caplog.text
        assert "200" in (await made.say(ASK)).decode()


API = cast(Api, None)


def pod(name: str, version: int) -> dict[str, Any]:
    """A pod of that version."""
    return {"metadata": {"namespace": "team-a", "name": name, "resourceVersion": str(version), "labels": {"secret": "x"}}}


def read_caches(*informers: Informer) -> list[dict[str, Any]]:
    """The caches of the page."""
    found: list[dict[str, Any]] = json.loads(write_caches({"host": informers}, ()))["caches"]
    return found


def test_a_cache_says_how_much_it_knows_and_nothing_of_its_objects() -> None:
    informer = Informer(API, kinds.POD, "team-a", labels="a=b", fields="spec.nodeName=n")
    about = {"server": "host", "apiVersion": "v1", "resource": "pods"}
    selectors = {"namespace": "team-a", "labelSelector": "a=b", "fieldSelector": "spec.nodeName=n"}
    assert read_caches(informer) == [about | selectors | {"isKnown": False, "objects": 0, "versions": 0, "version": 0}]
    for event, item in (
        ("ADDED", pod("one", 5)),
        ("ADDED", pod("two", 7)),
        ("MODIFIED", pod("one", 8)),
        ("DELETED", pod("two", 9)),
    ):
        informer._take({"type": event, "object": item})
    assert read_caches(informer) == [about | selectors | {"isKnown": True, "objects": 1, "versions": 8, "version": 9}]
    informer._take({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}})
    assert read_caches(informer)[0]["version"] == 12


def test_a_stream_keeps_nothing_and_says_how_far_it_has_come() -> None:
    stream = Stream(API, kinds.EVENT)
    stream._take({"type": "ADDED", "object": pod("one", 5)})
    assert read_caches(stream) == [{"server": "host", "apiVersion": "v1", "resource": "events", "isKnown": True, "version": 5}]
