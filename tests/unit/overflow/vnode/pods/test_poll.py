"""How often the backend is asked about all pods."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.pods import poll
from nestor.overflow.vnode.pods.registry import Registry


@pytest.mark.parametrize(("took", "pause"), [(0.1, 1.0), (2.0, 8.0), (15.0, 15.0)])
async def test_a_slow_answer_begets_a_pause_with_a_limit(took: float, pause: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = [0.0], []

    async def ask() -> None:
        now[0] += took

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        raise asyncio.CancelledError

    poller = poll.StatusPoller(cast(Any, None), Registry(lambda _: None), Health(), 1.0, lambda _: None)
    monkeypatch.setattr(poller, "ask", ask)
    monkeypatch.setattr(poll, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(poll, "asyncio", SimpleNamespace(sleep=sleep))
    with pytest.raises(asyncio.CancelledError):
        await poller.run()
    assert pauses == [pause]
