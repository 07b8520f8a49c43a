"""When K3s must be restarted."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any, cast

import pytest

from nestor.kube import Api, ApiError
from nestor.syncer.process.health import ServerHealth, find_problem, find_start
from nestor.syncer.process.health import watch_server as watch

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
LIMIT = datetime.timedelta(days=90)


def ago(**times: float) -> datetime.datetime:
    """So long before now."""
    return NOW - datetime.timedelta(**times)


@pytest.mark.parametrize(
    ("started", "answered", "problem"),
    [
        (None, NOW, None),
        (ago(days=89), NOW, None),
        (ago(days=91), NOW, "it must renew its certificates, which it does only when it starts"),
        (ago(days=1), ago(seconds=299), None),
        (ago(days=1), ago(seconds=301), "its API has not answered since 2025-12-31T23:54:59Z"),
        (ago(seconds=10), ago(hours=1), None),
        (ago(seconds=301), ago(hours=1), "its API has not answered since 2025-12-31T23:54:59Z"),
        (None, ago(seconds=301), "its API has not answered since 2025-12-31T23:54:59Z"),
    ],
)
def test_what_asks_for_a_restart(started: datetime.datetime | None, answered: datetime.datetime, problem: str | None) -> None:
    assert find_problem(started, answered, NOW, LIMIT) == problem


def build_pod(started: str | None) -> dict[str, Any]:
    """The server's pod."""
    state = {"running": {"startedAt": started}} if started else {"waiting": {"reason": "CrashLoopBackOff"}}
    syncer = {"name": "syncer", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}}}
    return {"status": {"containerStatuses": [syncer, {"name": "k3s", "state": state}]}}


@pytest.mark.parametrize(
    ("pod", "start"), [(build_pod("2026-01-01T00:00:00Z"), NOW), (build_pod(None), None), ({}, None), (None, None)]
)
def test_it_is_k3ss_own_container_that_counts(pod: dict[str, Any] | None, start: datetime.datetime | None) -> None:
    assert find_start(pod) == start


class Host:
    """Shows one answer after the other."""

    def __init__(self, *answers: dict[str, Any] | ApiError) -> None:
        self.answers = list(answers)

    async def find(self, *_: object) -> dict[str, Any]:
        """The pod, or the error."""
        answer = self.answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return answer


async def test_a_restart_is_noticed_and_an_outage_of_the_host_changes_nothing() -> None:
    health = ServerHealth(LIMIT, clock=lambda: NOW)
    host = Host(build_pod("2025-01-01T00:00:00Z"), ApiError(503, "x", "away"), build_pod(None), build_pod("2026-01-01T00:00:00Z"))
    seen = []

    async def sleep(seconds: float) -> None:
        assert seconds == 60
        seen.append(health.find_problem() is not None)
        if not host.answers:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await watch(cast(Api, host), "home", "hello", health, sleep)
    assert seen == [True, True, True, False]


def test_with_a_limit_of_seconds_the_looks_are_close_enough() -> None:
    assert ServerHealth(datetime.timedelta(seconds=5)).interval == 0.5
