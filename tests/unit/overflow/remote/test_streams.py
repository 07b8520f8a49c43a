"""Which request of the other cluster's API server a stream becomes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest

from nestor.api import names
from nestor.pods.providers import upgrade
from nestor.pods.providers.base import Call, Connection
from tests.unit.overflow.remote.conftest import SPACE, Far, build_pod


@pytest.mark.parametrize(
    ("subresource", "options", "query"),
    [
        ("exec", [("command", "ls"), ("command", "-l a"), ("stdout", "true")], "command=ls&command=-l+a&stdout=true"),
        ("attach", [("container", "app"), ("stdin", "true")], "container=app&stdin=true"),
        ("portforward", [("ports", "80"), ("ports", "443")], "ports=80&ports=443"),
        ("portforward", [], ""),
    ],
)
async def test_a_stream_is_one_of_the_pod_there(
    far: Far,
    monkeypatch: pytest.MonkeyPatch,
    subresource: Literal["exec", "attach", "portforward"],
    options: list[tuple[str, str]],
    query: str,
) -> None:
    asked: list[tuple[Any, Call, str]] = []

    @contextlib.asynccontextmanager
    async def connect(api: Any, call: Call, target: str) -> AsyncIterator[Connection]:
        asked.append((api, call, target))
        reader, writer = asyncio.StreamReader(), None
        yield Connection(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", reader, writer)  # type: ignore[arg-type]

    monkeypatch.setattr(upgrade, "connect", connect)
    call = Call(subresource, "GET", options, [("upgrade", "websocket")], b"sent")
    async with far.set_up().open_stream(build_pod("web", "host-uid"), call) as connection:
        assert connection.head.startswith(b"HTTP/1.1 101 ")
    name = names.remote_pod("web", "host-uid")
    path = f"/api/v1/namespaces/{SPACE}/pods/{name}/{subresource}"
    assert asked == [(far.api, call, f"{path}?{query}" if query else path)]
