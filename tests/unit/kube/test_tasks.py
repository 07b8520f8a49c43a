"""What goes out at the same time: failures, and who is cancelled meanwhile."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from nestor.kube.tasks import each_to_its_end, together

BOTH = pytest.mark.parametrize("run", [together, each_to_its_end])
Run = Callable[..., Coroutine[Any, Any, list[Any]]]


class Refused(Exception):
    """What a request raises."""


async def step(count: int) -> None:
    """Let all tasks go on so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


class Asked:
    """A request. `ended` once it has, whatever the result."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.ended = False

    async def ask(self) -> str:
        try:
            return await self.answer
        finally:
            await asyncio.sleep(0)  # as when a connection is closed
            self.ended = True


@BOTH
async def test_results_come_in_order(run: Run) -> None:
    first, second = Asked(), Asked()
    task = asyncio.create_task(run(first.ask(), second.ask()))
    second.answer.set_result("b")
    await step(5)
    first.answer.set_result("a")
    assert await task == ["a", "b"]


@BOTH
async def test_nothing_to_do_is_done(run: Run) -> None:
    assert await run() == []


async def test_a_failure_ends_the_others() -> None:
    first, second = Asked(), Asked()
    second.answer.set_exception(Refused("full"))
    with pytest.raises(Refused, match="full"):
        await together(first.ask(), second.ask())
    assert first.ended
    assert first.answer.cancelled()


async def test_a_failure_leaves_the_others_to_their_end() -> None:
    first, second = Asked(), Asked()
    task = asyncio.create_task(each_to_its_end(first.ask(), second.ask()))
    second.answer.set_exception(Refused("full"))
    await step(10)
    assert not task.done()
    first.answer.set_result("a")
    with pytest.raises(Refused, match="full"):
        await task
    assert first.ended


@BOTH
@pytest.mark.parametrize("steps", range(8))
async def test_who_is_cancelled_while_one_fails_is_cancelled(run: Run, steps: int) -> None:
    """Whichever comes first: a loop that tries again after each failure would otherwise never end."""
    first, second = Asked(), Asked()
    task = asyncio.create_task(run(first.ask(), second.ask()))
    await step(3)
    second.answer.set_exception(Refused("full"))
    await step(steps)
    if task.cancel():
        with pytest.raises(asyncio.CancelledError):
            await task
        assert first.ended
    else:
        assert isinstance(task.exception(), Refused)
