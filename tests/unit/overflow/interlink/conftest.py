"""A backend that each test has for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.interlink.settings import Limits, Settings
from tests.fakes.interlink import FakeInterlink

QUICK = Limits(call_seconds=5, create_seconds=5, connect_seconds=2, settle_seconds=0, pause_seconds=0.01)


class Clock:
    """What a module takes for `time`."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Backend:
    """A fake, its URL, and the providers that talk to it."""

    def __init__(self, fake: FakeInterlink, url: str) -> None:
        self.fake = fake
        self.url = url
        self.made: list[InterlinkProvider] = []

    def connect(self, **fields: Any) -> InterlinkProvider:
        """A provider; `fields` are those of `Settings`, and those of `Limits` that are not to be quick."""
        names = Limits.__dataclass_fields__.keys()
        limits = replace(QUICK, **{key: fields.pop(key) for key in list(fields) if key in names})
        given: dict[str, Any] = {"url": self.url, "hop": self.fake.hop, "limits": limits} | fields
        self.made.append(InterlinkProvider(Settings(**given)))
        return self.made[-1]


@pytest.fixture(params=["Server", "Plugin"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    fake = FakeInterlink(request.param)
    async with fake.serve() as url:
        made = Backend(fake, url)
        yield made
        for provider in made.made:
            await provider.close()
