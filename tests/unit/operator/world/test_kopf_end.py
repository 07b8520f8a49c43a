"""kopf's end is limited."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from nestor.kube import Api
from nestor.operator.world import kopf_events


async def test_what_does_not_end_when_asked_to_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = asyncio.Event(), list[bool]()

    async def hang(_: object, stop: asyncio.Event, __: object) -> None:
        began.set()
        try:
            await stop.wait()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as when connections are closed
            ended.append(stop.is_set())

    monkeypatch.setattr(kopf_events, "END_SECONDS", 0.01)
    monkeypatch.setattr(kopf_events, "_run_kopf", hang)
    task = asyncio.create_task(kopf_events.run({}, asyncio.Event(), cast(Api, cast(Any, None))))
    await began.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert ended == [True]
    assert asyncio.all_tasks() == {asyncio.current_task()}
