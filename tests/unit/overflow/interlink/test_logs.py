"""Logs: what is asked for, and what arrives."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from nestor.api import times
from nestor.api.objects import Object
from nestor.overflow.interlink import client
from nestor.overflow.interlink.build import build_log_request, read_log_limit
from nestor.pods.providers.base import Inputs, Options
from nestor.pods.providers.errors import InvalidInput, Unreachable
from tests.unit.overflow.interlink.conftest import Backend

NOW = times.read("2026-01-01T12:00:00Z")
POD: Object = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
    "spec": {"containers": [{"name": "app", "image": "x"}], "initContainers": [{"name": "prepare", "image": "x"}]},
}


@pytest.mark.parametrize(
    ("options", "container", "expected"),
    [
        ([], "app", {}),
        ([("container", "prepare")], "prepare", {}),
        ([("follow", "true"), ("timestamps", "1"), ("previous", "false")], "app", {"Follow": True, "Timestamps": True}),
        ([("previous", "true")], "app", {"Previous": True}),
        ([("tailLines", "5"), ("limitBytes", "9"), ("sinceSeconds", "7")], "app", {"Tail": 5, "SinceSeconds": 7}),
        ([("sinceTime", "2026-01-01T00:00:00Z")], "app", {"SinceTime": "2026-01-01T00:00:00Z"}),
        # 0 means no limit to interLink.
        ([("tailLines", "0"), ("follow", "true")], "app", {"Follow": True, "SinceTime": "2026-01-01T12:00:00Z"}),
        (
            [("tailLines", "0"), ("follow", "1"), ("sinceSeconds", "7")],
            "app",
            {"Follow": True, "SinceTime": "2026-01-01T12:00:00Z"},
        ),
        ([("stream", "All")], "app", {}),
    ],
)
def test_options_are_those_of_the_protocol(options: Options, container: str, expected: Object) -> None:
    usual = {"Tail": 0, "Bytes": 0, "Timestamps": False, "Follow": False, "Previous": False, "SinceSeconds": 0}
    named = {"Namespace": "shop", "PodName": "web", "PodUID": "u", "ContainerName": container}
    assert build_log_request(POD, options, NOW) == named | {"Opts": usual | expected}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([("container", "other")], "container 'other' is not one of this pod's: app, prepare"),
        ([("stream", "Stderr")], "`stream` must be 'All'"),
        ([("tailLines", "-1")], "`tailLines` must be a number"),
        ([("limitBytes", "9" * 30)], "`limitBytes` must be a number"),
    ],
)
def test_options_that_interlink_does_not_have_are_refused(options: Options, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        _ = read_log_limit(options), build_log_request(POD, options, NOW)
    assert words in caught.value.message


async def read(backend: Backend, *options: tuple[str, str], **fields: Any) -> bytes:
    provider = backend.connect(**fields)
    if not backend.fake.pods:
        await provider.create(POD, Inputs(is_new=True))
    async with provider.open_log(POD, options) as pieces:
        return b"".join([piece async for piece in pieces])


async def test_a_log_arrives_whole_or_as_much_as_was_asked_for(backend: Backend) -> None:
    backend.fake.log = [b"one\n", b"two\n", b"x" * 300_000]
    assert await read(backend) == b"one\ntwo\n" + b"x" * 300_000
    assert await read(backend, ("limitBytes", "6")) == b"one\ntw"
    assert backend.fake.bodies[-1]["Opts"]["Bytes"] == 0, "together with lines, interLink refuses it"
    assert await read(backend, ("tailLines", "0")) == b"", "0 lines are all lines to interLink"


async def test_a_log_is_followed_as_it_grows(backend: Backend) -> None:
    provider = backend.connect(log_idle_seconds=0.1)
    await provider.create(POD, Inputs(is_new=True))
    async with provider.open_log(POD, [("follow", "true")]) as pieces:
        assert await anext(pieces) == b"hello\n"
        rest = asyncio.create_task(_rest(pieces))
        await asyncio.sleep(0.3)
        assert not rest.done()
        backend.fake.silence.set()
        assert await rest == b""


async def test_creations_do_not_wait_for_logs_that_are_followed(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users decide how many logs are followed: with all connections for logs in use, pods are sent all the same."""
    monkeypatch.setattr(client, "_CONNECTIONS", client._CONNECTIONS | {"stream": (2, True), "creation": (2, True)})
    provider = backend.connect(create_seconds=2, call_seconds=2)
    await provider.create(POD, Inputs(is_new=True))
    async with AsyncExitStack() as stack:
        for _ in range(2):
            pieces = await stack.enter_async_context(provider.open_log(POD, [("follow", "true")]))
            assert await anext(pieces) == b"hello\n"
        second = POD | {"metadata": POD["metadata"] | {"name": "second", "uid": "v"}}
        await provider.create(second, Inputs(is_new=True))
        assert len(backend.fake.pods) == 2
        backend.fake.silence.set()


async def test_who_leaves_a_log_in_the_middle_leaves_nothing_open(backend: Backend) -> None:
    """Otherwise it would end at a moment of its own, perhaps when there is no event loop any more."""
    provider = backend.connect()
    await provider.create(POD, Inputs(is_new=True))
    async with provider.open_log(POD, [("follow", "true")]) as pieces:
        assert await anext(pieces) == b"hello\n"
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)
    backend.fake.silence.set()


async def _rest(pieces: Any) -> bytes:
    return b"".join([piece async for piece in pieces])


async def test_a_log_that_is_not_followed_does_not_hang(backend: Backend) -> None:
    async def stall(request: web.Request) -> web.StreamResponse | None:
        if request.path != "/getLogs":
            return None
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.Event().wait()
        return response

    backend.fake.fault = stall
    with pytest.raises(Unreachable, match="broke off"):
        await read(backend, log_idle_seconds=0.1)
