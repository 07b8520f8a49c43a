from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.apps.runner import settling
from nestor.kube import Api, ApiError, Kind, Unreachable
from tests.unit.apps.runner.test_run import FakeClock


class FakeApi:
    """A cluster that starts by the fake clock: the API first, then its namespaces."""

    host = "https://10.0.0.1"

    def __init__(self, clock: FakeClock, api: float, namespace: float) -> None:
        self.clock = clock
        self.namespace = namespace
        self.api = api

    async def request(self, method: str, path: str, *, timeout: float) -> Any:
        if self.clock.time < self.api:
            raise Unreachable(f"GET {path}: refused")
        if self.clock.time < self.api + 1:
            raise ApiError(500, "", "[-]poststarthook/rbac failed\nmore")
        return "ok"

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Any:
        return {} if self.clock.time >= self.namespace else None


async def wait(clock: FakeClock, api: FakeApi, limit: float = 600) -> list[str]:
    lines: list[str] = []
    await settling.wait_for_api(cast(Api, api), clock, limit, lines.append)
    return lines


async def test_it_goes_on_when_an_app_could_be_applied() -> None:
    clock = FakeClock()
    lines = await wait(clock, FakeApi(clock, api=2, namespace=3.2))
    assert lines[0] == "waiting for the nested API at https://10.0.0.1"
    assert lines[1].startswith("the nested API answers (waited 3.")
    assert 3.2 <= clock.time < 3.5


async def test_it_is_quick_at_first_and_never_slower_than_a_second() -> None:
    clock = FakeClock()
    await wait(clock, FakeApi(clock, api=90, namespace=0))
    assert clock.slept[0] == settling.FIRST_PAUSE
    assert max(clock.slept) == settling.LONGEST_PAUSE
    assert clock.time < 92.5


async def test_a_long_wait_says_now_and_then_what_is_wrong() -> None:
    clock = FakeClock()
    lines = await wait(clock, FakeApi(clock, api=25, namespace=0))
    reminders = [line for line in lines if line.startswith("still waiting")]
    assert len(reminders) == 2
    assert all(line.endswith(" s: refused") for line in reminders)


async def test_a_cluster_that_never_comes_is_given_up_with_the_last_trouble() -> None:
    clock = FakeClock()
    with pytest.raises(settling.NoApi) as given_up:
        await wait(clock, FakeApi(clock, api=1, namespace=99), limit=30)
    assert str(given_up.value) == (
        "the nested API at https://10.0.0.1 was not ready within 30 s: namespace 'kube-system' does not exist yet"
    )
