"""A cluster that is young: the runner waits for its API, and no step fails because of its start."""

from typing import Any, cast

import pytest

from nestor.apps.runner import settling
from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Step
from nestor.kube import Api, ApiError, Unreachable
from tests.unit.apps.runner.test_run import OK, REFUSED, FakeClock


class FakeApi:
    """A cluster that starts by the fake clock: the API first, then its namespaces, or what shows that its controllers run."""

    host = "https://10.0.0.1"

    def __init__(self, clock: FakeClock, api: float, namespace: float) -> None:
        self.clock = clock
        self.namespace = namespace
        self.api = api
        self.asked = 0

    async def request(self, method: str, path: str, *, timeout: float) -> Any:
        if self.clock.time < self.api:
            raise Unreachable(f"GET {path}: refused")
        if self.clock.time < self.api + 1:
            raise ApiError(500, "", "[-]poststarthook/rbac failed\nmore")
        return "ok"

    async def find(self, *_: Any) -> Any:
        self.asked += 1
        if self.clock.time < self.api:
            raise Unreachable("refused")
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


STEP = Step(name="a", type="kubectl", path="a.yml")


class World:
    """A cluster whose controllers run after a time, and commands with scripted outcomes."""

    def __init__(self, settled: float, *outcomes: Outcome) -> None:
        self.clock = FakeClock()
        self.api = FakeApi(self.clock, settled / 2, settled)
        self.outcomes = list(outcomes)
        self.log: list[str] = []
        self.settling = settling.Settling(cast(Api, self.api), self.clock, self.run)

    async def run(self, attempt: Attempt) -> Outcome:
        self.clock.time += 0.3
        return self.outcomes.pop(0)

    async def execute(self, step: Step = STEP) -> Outcome:
        return await self.settling.execute(Attempt(step, 1, self.log.append))


async def test_a_step_that_succeeds_does_not_wait() -> None:
    world = World(5, OK)
    assert await world.execute() == OK
    assert (world.clock.time, world.log) == (0.3, [])


async def test_a_step_that_fails_too_early_is_repeated_when_the_cluster_has_settled() -> None:
    world = World(5, REFUSED, OK)
    assert await world.execute() == OK
    assert 5 <= world.clock.time < 6
    assert "still starting" in world.log[0]


async def test_a_failure_in_a_settled_cluster_is_a_failure_and_the_cluster_is_not_asked_again() -> None:
    world = World(0, REFUSED, REFUSED)
    assert await world.execute() == REFUSED
    assert await world.execute() == REFUSED
    assert (world.api.asked, world.log) == (1, [])


async def test_a_cluster_that_never_settles_does_not_hide_the_failure() -> None:
    world = World(1e9, REFUSED, REFUSED)
    assert await world.execute() == REFUSED
    assert world.clock.time < settling.LIMIT_SECONDS + 2


async def test_a_script_which_may_not_bear_a_repetition_waits_before_it_begins() -> None:
    world = World(5, REFUSED)
    assert await world.execute(Step(name="a", type="custom", cmd="eA==")) == REFUSED
    assert 5 <= world.clock.time < 6
    assert (world.outcomes, world.log) == ([], [])
