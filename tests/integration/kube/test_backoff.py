"""How long an informer waits after a failure, told by a server that cuts its streams; no pause is really made."""

import asyncio
from collections.abc import Callable

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Informer, informer, kinds
from tests.integration.kube import faults
from tests.waiting import eventually

Plan = Callable[[int], Object | None]
"""The event that the nth watch brings before it is cut; None for none."""


class Flaky:
    """A server of no objects, whose watches are cut, and an informer of it that notes its pauses instead of making them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._watches = 0
        self._informer: Informer
        self.pauses: list[tuple[int, float]] = []
        """Number of failures in a row, and longest pause."""

    def note(self, failures: int, longest: float) -> float:
        """In place of `find_pause`."""
        self.pauses.append((failures, longest))
        return 0

    async def run(self, count: int) -> None:
        """Until that many pauses were noted."""
        async with faults.scripted(self._answer) as server, await Api.from_kubeconfig(faults.kubeconfig(server)) as api:
            self._informer = Informer(api, kinds.CONFIG_MAP)
            task = asyncio.create_task(self._informer.run())
            try:
                await eventually(lambda: self._has_noted(count))
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _answer(self, exchange: faults.Exchange) -> None:
        if "watch=true" not in exchange.target:
            await exchange.answer({"metadata": {"resourceVersion": "1"}, "items": []})
            return
        self._watches += 1
        await exchange.begin()
        if event := self._plan(self._watches):
            await exchange.send(event)
            # What a connection still holds when it is reset may be lost.
            await eventually(lambda: self._has_taken(event))
        exchange.cut()

    async def _has_noted(self, count: int) -> bool:
        return len(self.pauses) >= count

    async def _has_taken(self, event: Object) -> bool:
        return self._informer._version in ("", event["object"].get("metadata", {}).get("resourceVersion"))


def build_event(kind: str, version: int) -> Object:
    """About a ConfigMap of that version."""
    return {"type": kind, "object": {"metadata": {"name": "a", "resourceVersion": str(version)}}}


async def pauses_of(plan: Plan, count: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """The first pauses of an informer of such a server."""
    flaky = Flaky(plan)
    monkeypatch.setattr(informer, "find_pause", flaky.note)
    await flaky.run(count)
    return flaky.pauses[:count]


async def test_a_stream_that_brought_something_ends_the_row_of_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = await pauses_of(lambda number: build_event("ADDED", number + 1), 12, monkeypatch)
    assert [failures for failures, _ in seen] == [1] * 12


async def test_streams_that_bring_nothing_are_a_row_until_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = await pauses_of(lambda number: build_event("BOOKMARK", 7) if number == 10 else None, 12, monkeypatch)
    assert [failures for failures, _ in seen] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]
    assert {longest for _, longest in seen} == {informer.NEAR_PAUSE_SECONDS}  # it is on loopback


async def test_a_quiet_stream_that_lasted_is_no_failure_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a balancer that resets each connection after a minute."""
    monkeypatch.setattr(informer, "LONGEST_PAUSE_SECONDS", 0)
    seen = await pauses_of(lambda _: None, 10, monkeypatch)
    assert [failures for failures, _ in seen] == [1] * 10


async def test_a_server_that_calls_its_own_list_too_old_is_not_asked_without_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    seen = await pauses_of(lambda _: {"type": "ERROR", "object": status}, 5, monkeypatch)
    assert [failures for failures, _ in seen] == [1, 2, 3, 4, 5]
