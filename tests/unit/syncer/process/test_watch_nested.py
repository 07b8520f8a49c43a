"""What the checks of the nested API server come to, and when K3s must be restarted."""

import asyncio
import datetime
from itertools import groupby
from typing import Any, cast

import pytest

from nestor.kube import Api, ApiError
from nestor.syncer.cluster.status import ClusterStatus
from nestor.syncer.process import health
from nestor.syncer.process.health import Health, ServerHealth, find_start, watch_nested, watch_server


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
        self.reported.append((ready, message))


async def check(nested: Nested, basics: Any, *, days: float = 90, admin: str = "") -> tuple[Health, Status]:
    """All checks of a server that may run for so many days, and has just started."""
    state, status = Health(ServerHealth(datetime.timedelta(days=days), clock=lambda: nested.now)), Status()
    state.working, state.server.started = True, nested.now
    state.note_admin(admin)
    with pytest.raises(asyncio.CancelledError):
        await watch_nested(cast(Api, nested), state, cast(ClusterStatus, status), basics)
    return state, status


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_CHECK_SECONDS", 0)
    monkeypatch.setattr(health, "_CALM_SECONDS", 0)


async def done() -> None:
    """There is nothing to wait for."""


@pytest.mark.parametrize(("status", "is_restarted"), [(200, False), (401, False), (403, False), (500, True), (503, True)])
async def test_a_server_that_answers_is_not_restarted_even_if_it_refuses_us(status: int, is_restarted: bool) -> None:
    state, told = await check(Nested(status), done())
    assert (state.server.find_problem() is not None) is is_restarted
    assert [ready for ready, _ in told.reported][-1] is (status == 200)


async def test_a_dns_server_that_never_gets_ready_keeps_the_api_server_from_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_DNS_SECONDS", 0)
    state, told = await check(Nested(200), asyncio.Event().wait())
    assert told.reported == [(False, "The API server is up; nodes or DNS are not ready yet.")]
    assert state.server.find_problem() is None
    assert not state.is_ready


async def test_why_a_silent_server_is_restarted_is_in_the_status() -> None:
    _, told = await check(Nested(503), done())
    silent = "it says so. K3s will be restarted: its API has not answered since 2026-01-01T00:00:00Z."
    assert list(dict.fromkeys(told.reported)) == [(False, "it says so"), (False, silent)]


async def test_that_a_server_must_renew_its_certificates_is_in_the_status_before_it_is_restarted() -> None:
    _, status = await check(Nested(200), done(), days=5 / 1440)
    up = "The API server is up and pods run in the host cluster."
    renewal = f"{up} K3s will be restarted: it must renew its certificates, which it does only when it starts."
    assert list(dict.fromkeys(message for _, message in status.reported)) == [up, renewal]


async def test_a_cluster_whose_admins_got_no_rights_says_so_and_is_ready() -> None:
    _, status = await check(Nested(200), done(), admin="policy 'strict' denied request " + "x" * 5000)
    ready, message = status.reported[-1]
    assert ready
    works = "The API server is up and pods run in the host cluster."
    assert message.startswith(f"{works} The rights of its admins could not be set up: policy 'strict' denied request")
    assert len(message) < 1000


async def test_a_late_answer_or_two_do_not_make_a_cluster_unready_and_three_do() -> None:
    answers = iter([200, 503, 503, 200, 503, 503, 503, 503, 503, 200])

    class Flapping(Nested):
        async def request(self, *args: object, **options: object) -> None:
            self.status = next(answers, 200)
            await super().request(*args, **options)

    _, told = await check(Flapping(200), done())
    changes = [is_ready for is_ready, _ in groupby(told.reported, lambda report: report[0])]
    assert changes == [True, False, True]
    assert next(message for is_ready, message in told.reported if not is_ready) == "it says so"


NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
LIMIT = datetime.timedelta(days=90)


def ago(**times: float) -> datetime.datetime:
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
    clock = iter((answered, NOW))
    health = ServerHealth(LIMIT, clock=lambda: next(clock))
    health.started = started
    assert health.find_problem() == problem


def build_pod(started: str | None) -> dict[str, Any]:
    state = {"running": {"startedAt": started}} if started else {"waiting": {"reason": "CrashLoopBackOff"}}
    syncer = {"name": "syncer", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}}}
    return {"status": {"containerStatuses": [syncer, {"name": "k3s", "state": state}]}}


@pytest.mark.parametrize(
    ("pod", "start"), [(build_pod("2026-01-01T00:00:00Z"), NOW), (build_pod(None), None), ({}, None), (None, None)]
)
def test_it_is_k3ss_own_container_that_counts(pod: dict[str, Any] | None, start: datetime.datetime | None) -> None:
    assert find_start(pod) == start


class Host:
    def __init__(self, *answers: dict[str, Any] | ApiError) -> None:
        self.answers = list(answers)

    async def find(self, *_: object) -> dict[str, Any]:
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
        await watch_server(cast(Api, host), "home", "hello", health, sleep)
    assert seen == [True, True, True, False]


def test_with_a_limit_of_seconds_the_looks_are_close_enough() -> None:
    assert ServerHealth(datetime.timedelta(seconds=5)).interval == 0.5
