"""A backend that each test has for itself."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from nestor.api.backend_kinds import Interlink
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
        """A provider; `fields` are those of the backend, of `Settings`, and of `Limits` that are not to be quick."""
        limits = {key: fields.pop(key) for key in list(fields) if key in Limits.__dataclass_fields__}
        others = {key: fields.pop(key) for key in list(fields) if key in Settings.__dataclass_fields__}
        own = Interlink(**{"url": self.url, "hop": self.fake.hop} | fields)
        self.made.append(InterlinkProvider(Settings(own, **others, limits=replace(QUICK, **limits))))
        return self.made[-1]


@pytest.fixture(params=["Server", "Plugin"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    fake = FakeInterlink(request.param)
    async with fake.serve() as url:
        made = Backend(fake, url)
        yield made
        for provider in made.made:
            await provider.close()
