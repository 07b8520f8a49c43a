"""One virtual node, with short pauses."""

from collections.abc import AsyncIterator

import pytest

from nestor.overflow.vnode.pods import create
from tests.unit.overflow.vnode.world import World, living


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with living() as made:
        yield made


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create, "_FIRST_PAUSE", 0.02)
    monkeypatch.setattr(create, "_LONGEST_PAUSE", 0.05)
