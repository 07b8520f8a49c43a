from __future__ import annotations

from typing import Any, cast

from nestor.apps.runner import settling
from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Step
from nestor.kube import Api, Unreachable
from tests.unit.apps.runner.test_run import OK, REFUSED, FakeClock

STEP = Step(name="a", type="kubectl", path="a.yml")


class World:
    """A cluster whose service account appears at a time, and commands with scripted outcomes."""

    def __init__(self, account: float, *outcomes: Outcome) -> None:
        self.clock = FakeClock()
        self.account = account
        self.outcomes = list(outcomes)
        self.asked = 0
        self.log: list[str] = []
        self.settling = settling.Settling(cast(Api, self), self.clock, self.run)

    async def find(self, *_: Any) -> Any:
        self.asked += 1
        if self.clock.time < self.account / 2:
            raise Unreachable("refused")
        return {} if self.clock.time >= self.account else None

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
    assert (world.asked, world.log) == (1, [])


async def test_a_cluster_that_never_settles_does_not_hide_the_failure() -> None:
    world = World(1e9, REFUSED, REFUSED)
    assert await world.execute() == REFUSED
    assert world.clock.time < settling.LIMIT_SECONDS + 2


async def test_a_script_which_may_not_bear_a_repetition_waits_before_it_begins() -> None:
    world = World(5, REFUSED)
    assert await world.execute(Step(name="a", type="custom", cmd="eA==")) == REFUSED
    assert 5 <= world.clock.time < 6
    assert (world.outcomes, world.log) == ([], [])
