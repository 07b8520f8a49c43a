"""Events: about one object and reason only so many, whatever flaps."""

from types import SimpleNamespace
from typing import cast

import pytest

from nestor.kube import Api, events, kinds
from nestor.kube.events import BURST, PERIOD_SECONDS, EventRecorder
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object


def about(uid: str) -> Object:
    """An object."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team-a", "uid": uid}}


async def test_of_one_reason_about_one_object_there_are_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    api, now = MemoryApi(), [1000.0]
    monkeypatch.setattr(events, "time", SimpleNamespace(monotonic=lambda: now[0]))
    recorder = EventRecorder(cast(Api, api), "test")

    async def post(uid: str, reason: str, count: int) -> int:
        """How many of so many are there."""
        before = len(api.objects)
        for number in range(count):
            await recorder.post(about(uid), "Normal", reason, f"for the {number}th time")
        return len(api.objects) - before

    assert await post("1", "JobReady", 10 * BURST) == BURST
    assert await post("1", "StepFailed", 1) == 1
    assert await post("2", "JobReady", 1) == 1
    now[0] += 3 * PERIOD_SECONDS
    assert await post("1", "JobReady", BURST) == 3
    now[0] += BURST * PERIOD_SECONDS
    assert await post("1", "JobReady", 10 * BURST) == BURST
    assert {item["kind"] for item in api.objects.values()} == {kinds.EVENT.name}
