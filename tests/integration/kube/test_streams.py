"""Streams without end have connections of their own: however many logs are followed, all other requests are answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from nestor.kube import Api, ApiError, kinds
from nestor.kube.transport import STREAM_LIMIT
from tests.integration.kube import faults

LOG = kinds.POD.path("n", "web-1", "log")


async def follow_or_answer(exchange: faults.Exchange) -> None:
    """Logs have a line and no end; all else is answered at once."""
    if "/missing/" in exchange.target:
        await exchange.answer({"kind": "Status", "reason": "NotFound", "message": "pods not found"}, 404)
    elif "/log" in exchange.target:
        await exchange.begin()
        await exchange.send({"line": 1})
        await asyncio.Event().wait()
    else:
        await exchange.answer({"gitVersion": "v1"})


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """A client of the server above."""
    async with faults.scripted(follow_or_answer) as server, await Api.from_kubeconfig(faults.kubeconfig(server)) as api:
        yield api


async def follow(stack: AsyncExitStack, api: Api, count: int) -> None:
    """Open followed logs and read what they have said."""

    async def begin() -> None:
        response = await stack.enter_async_context(api.stream(LOG, {"follow": "true"}))
        assert await response.content.readline() == b'{"line": 1}\n'

    for _ in range(count):
        await begin()


async def test_with_250_followed_logs_other_requests_are_answered(api: Api) -> None:
    async with AsyncExitStack() as stack:
        await follow(stack, api, 250)
        answers = await asyncio.gather(*(api.request("GET", "/version", timeout=10) for _ in range(50)))
        assert answers == [{"gitVersion": "v1"}] * 50


async def test_streams_are_bounded_and_those_that_end_make_room(api: Api) -> None:
    async with AsyncExitStack() as stack:
        await follow(stack, api, STREAM_LIMIT)
        with pytest.raises(ApiError, match=f"{STREAM_LIMIT} streams are open already") as raised:
            await follow(stack, api, 1)
        assert (raised.value.status, raised.value.is_transient) == (429, True)
        assert await api.request("GET", "/version", timeout=10) == {"gitVersion": "v1"}
    async with AsyncExitStack() as stack:
        await follow(stack, api, STREAM_LIMIT)


async def test_a_stream_that_is_refused_makes_room_too(api: Api) -> None:
    for _ in range(STREAM_LIMIT + 1):
        with pytest.raises(ApiError, match="pods not found"):
            async with api.stream(kinds.POD.path("missing", "web-1", "log")):
                raise AssertionError("it was answered")
