"""What the checks of the nested API server come to."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any, cast

import pytest

from nestor.kube import Api, ApiError
from nestor.syncer.cluster.status import ClusterStatus
from nestor.syncer.process import health
from nestor.syncer.process.health import Health, watch_nested
from nestor.syncer.process.server import ServerHealth


class Nested:
    """An API server with this status, a minute later at each check."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        self.checks = 0

    async def request(self, *_: object, **__: object) -> None:
        """One check; nobody looks after the tenth."""
        self.checks += 1
        self.now += datetime.timedelta(minutes=1)
        if self.checks > 10:
            raise asyncio.CancelledError
        if self.status != 200:
            raise ApiError(self.status, "x", "it says so")


class Status:
    """Notes what is reported."""

    def __init__(self) -> None:
        self.reported: list[tuple[bool, str]] = []

    def set_ready(self, *, ready: bool, message: str) -> None:
        """Note it."""
        self.reported.append((ready, message))


async def check(nested: Nested, basics: Any) -> tuple[Health, Status]:
    """All checks of one server."""
    state, status = Health(ServerHealth(datetime.timedelta(days=90), clock=lambda: nested.now)), Status()
    state.working = True
    with pytest.raises(asyncio.CancelledError):
        await watch_nested(cast(Api, nested), state, cast(ClusterStatus, status), basics)
    return state, status


async def done() -> None:
    """There is nothing to wait for."""


@pytest.mark.parametrize(("status", "is_restarted"), [(200, False), (401, False), (403, False), (500, True), (503, True)])
async def test_a_server_that_answers_is_not_restarted_even_if_it_refuses_us(
    monkeypatch: pytest.MonkeyPatch, status: int, is_restarted: bool
) -> None:
    monkeypatch.setattr(health, "_CHECK_SECONDS", 0)
    state, told = await check(Nested(status), done())
    assert (state.server.find_problem() is not None) is is_restarted
    assert [ready for ready, _ in told.reported][-1] is (status == 200)


async def test_a_dns_server_that_never_gets_ready_keeps_the_api_server_from_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_CHECK_SECONDS", 0)
    monkeypatch.setattr(health, "_DNS_SECONDS", 0)
    state, told = await check(Nested(200), asyncio.Event().wait())
    assert told.reported == [(False, "The API server is up; DNS is not ready yet.")]
    assert state.server.find_problem() is None
    assert not state.is_ready


async def test_a_late_answer_or_two_do_not_make_a_cluster_unready_and_three_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_CHECK_SECONDS", 0)
    answers = iter([200, 503, 503, 200, 503, 503, 503, 503, 503, 200])

    class Flapping(Nested):
        async def request(self, *args: object, **options: object) -> None:
            self.status = next(answers, 200)
            await super().request(*args, **options)

    _, told = await check(Flapping(200), done())
    ready = [is_ready for is_ready, _ in told.reported]
    assert ready == [True, True, False, True]
    assert told.reported[2] == (False, "it says so")
