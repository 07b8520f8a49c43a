"""An attempt of a runner that has a successor is ended; any other is left alone."""

from __future__ import annotations

import asyncio

import pytest

from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.command import Outcome
from nestor.apps.runner.record import POLL_SECONDS, Fence, Superseded
from nestor.apps.steps import Step
from tests.unit.apps.runner.test_run import FakeClock

ATTEMPT = Attempt(Step(name="a", type="kubectl"), 1, lambda _: None)


class Stage:
    """An attempt that ends when it is told to, and a record that is asked about successors."""

    def __init__(self) -> None:
        self.asked = 0
        self.superseded_at: int | None = None
        self.may_end = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.was_ended = False

    async def check(self) -> None:
        self.asked += 1
        if self.asked == self.superseded_at:
            raise Superseded("gone")
        if self.asked == 5:
            self.may_end.set()
        await asyncio.sleep(0)

    async def execute(self, _: Attempt) -> Outcome:
        self.has_begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.was_ended = True
            raise
        return Outcome(0, "done")


async def test_an_attempt_goes_on_while_nobody_else_has_taken_over() -> None:
    stage, clock = Stage(), FakeClock()
    assert await Fence(stage.check, clock, stage.execute).execute(ATTEMPT) == Outcome(0, "done")
    assert clock.slept[:5] == [POLL_SECONDS] * 5
    assert not stage.was_ended


async def test_an_attempt_with_a_successor_is_ended_before_anything_else_happens() -> None:
    stage = Stage()
    stage.superseded_at = 3
    with pytest.raises(Superseded):
        await Fence(stage.check, FakeClock(), stage.execute).execute(ATTEMPT)
    assert stage.was_ended


async def test_an_attempt_that_is_stopped_is_ended_with_its_watch() -> None:
    stage = Stage()
    task = asyncio.create_task(Fence(stage.check, FakeClock(), stage.execute).execute(ATTEMPT))
    await stage.has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.was_ended
    assert len(asyncio.all_tasks()) == 1
