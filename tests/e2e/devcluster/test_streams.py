"""Websockets and long answers stay open, whatever happens to other Ingresses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import pytest

from tests.e2e.devcluster.conftest import Kubectl
from tests.e2e.devcluster.web import Browser


@pytest.fixture
def elsewhere(kubectl: Kubectl, browser: Browser, site: str) -> Elsewhere:
    return Elsewhere(kubectl, browser, site)


class Elsewhere:
    """Another host of the same cluster, which comes and goes."""

    def __init__(self, kubectl: Kubectl, browser: Browser, site: str) -> None:
        self._kubectl = kubectl
        self._browser = browser
        self._host = f"elsewhere-{site}"

    @contextmanager
    def is_there(self) -> Iterator[None]:
        """From when its first page was served to when there is none any more."""
        self._kubectl("create", "ingress", "elsewhere", f"--rule={self._host}/*=server:second")
        self._browser.wait_for(self._host, 200)
        yield
        self._kubectl("delete", "ingress", "elsewhere")
        self._browser.wait_for(self._host, 404)

    def come_and_go(self) -> None:
        """Be there, and no more."""
        with self.is_there():
            pass


async def echo(stream: aiohttp.ClientWebSocketResponse, text: str) -> str:
    """What comes back for a text."""
    await stream.send_str(text)
    return await stream.receive_str(timeout=10)


async def test_a_websocket_stays_open_while_other_ingresses_come_and_go(
    site: str, browser: Browser, elsewhere: Elsewhere
) -> None:
    async with browser.session() as session, session.ws_connect(f"http://{site}:{browser.http_port}/ws") as stream:
        for turn in range(3):
            with elsewhere.is_there():
                assert await echo(stream, f"{turn} with") == f"{turn} with"
            assert await echo(stream, f"{turn} without") == f"{turn} without"
        assert not stream.closed


async def test_a_websocket_ends_with_its_server(site: str, browser: Browser, kubectl: Kubectl) -> None:
    async with browser.session() as session, session.ws_connect(f"http://{site}:{browser.http_port}/ws") as stream:
        assert await echo(stream, "here") == "here"
        kubectl("delete", "pod", "server", "--wait=false")
        message = await stream.receive(timeout=30)
        assert message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.ERROR)


async def test_a_long_answer_arrives_as_it_is_written_and_goes_on_while_other_ingresses_come_and_go(
    site: str, browser: Browser, elsewhere: Elsewhere
) -> None:
    async with browser.session() as session, session.get(f"http://{site}:{browser.http_port}/lines") as answer:
        assert await answer.content.readline() == b"0\n"  # it never ends, so it was not held back
        with elsewhere.is_there():
            assert await answer.content.readline() == b"1\n"
        numbers = [int(await answer.content.readline()) for _ in range(60)]
        assert numbers == list(range(2, 62))


async def test_no_request_is_lost_while_other_ingresses_come_and_go(site: str, browser: Browser, elsewhere: Elsewhere) -> None:
    statuses: list[int] = []

    async def ask(session: aiohttp.ClientSession) -> None:
        while True:
            async with session.post(f"http://{site}:{browser.http_port}/") as answer:  # a GET might be tried again unseen
                statuses.append(answer.status)

    async with browser.session() as session, asyncio.TaskGroup() as group:
        asking = group.create_task(ask(session))
        for _ in range(5):
            before = len(statuses)
            await asyncio.to_thread(elsewhere.come_and_go)
            assert len(statuses) > before
        asking.cancel()
    assert set(statuses) == {200}
