"""The lines of a log end with whoever reads them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from nestor.clients.cli import loglines
from nestor.clients.cli.loglines import Wanted
from nestor.clients.ui.pages import logs
from nestor.clients.ui.visitor import Hub, Visitor
from nestor.kube import Api
from tests.fakes.api import MemoryApi

Object = dict[str, Any]
JOB: Object = {"metadata": {"name": "shop", "namespace": "team-a"}, "status": {"namespace": "home"}}


class Streaming(MemoryApi):
    """A server on which a pod says one line after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.open = 0

    @contextlib.asynccontextmanager
    async def stream(self, *_: object) -> AsyncIterator[Any]:
        self.open += 1
        try:
            yield self
        finally:
            self.open -= 1

    @property
    def content(self) -> Any:
        return self

    async def iter_any(self) -> AsyncIterator[bytes]:
        while True:
            yield b"[install] one\n[install] two\n"


@pytest.mark.parametrize("step", [None, "install"])
async def test_the_log_is_closed_with_its_reader(step: str | None) -> None:
    """At once: otherwise it would count as open until somebody collects the garbage."""
    api = Streaming()
    lines = loglines.pick_lines(loglines.stream(cast(Api, api), "shop", "home", Wanted()), step)
    assert await anext(lines) == "[install] one"
    assert api.open == 1
    await lines.aclose()
    assert api.open == 0


async def test_the_page_closes_the_log_with_its_own_end() -> None:
    api = Streaming()
    visitor = Visitor(cast(Api, api), Hub(cast(Api, api)), cast(Any, None), "ann")
    found = logs._read(visitor, JOB, logs.STEPS, None, None, follow=True)
    assert await anext(found) == "[install] one"
    await found.aclose()
    assert api.open == 0
