"""The work queue: order, no overlap, no lost key, back-off."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from nestor.kube import RetryLater, WorkQueue
from tests.waiting import worked_off


async def settle(queue: WorkQueue[str]) -> None:
    """Run the queue until nothing waits, runs or is due."""
    task = asyncio.create_task(queue.run())
    await worked_off(queue)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def noting(seen: list[str]) -> Callable[[str], Awaitable[None]]:
    """Work that only notes its key."""

    async def work(key: str) -> None:
        seen.append(key)

    return work


async def test_a_key_added_while_it_runs_runs_again_and_never_twice_at_once() -> None:
    running: Counter[str] = Counter()
    runs = 0

    async def work(key: str) -> None:
        nonlocal runs
        running[key] += 1
        assert running[key] == 1
        runs += 1
        if runs == 1:
            queue.add(key)
            queue.add(key)
        await asyncio.sleep(0)
        running[key] -= 1

    queue = WorkQueue(work, workers=4)
    queue.add("a")
    await settle(queue)
    assert runs == 2


FAIL = ValueError("not yet")


@pytest.mark.parametrize(
    ("outcomes", "delays"),
    [
        ([FAIL] * 6, [1, 2, 4, 8, 10, 10]),
        ([FAIL, FAIL, None, FAIL], [1, 2, 1]),
        ([FAIL, FAIL, RetryLater(7), FAIL], [1, 2, 7, 1]),
        ([FAIL, FAIL, 5, FAIL], [1, 2, 5, 1]),
    ],
    ids=["grows to its limit", "after a success", "after RetryLater", "after a delay"],
)
async def test_how_long_a_failure_waits(
    outcomes: list[Exception | float | None], delays: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[float] = []

    async def work(_: str) -> float | None:
        match outcomes.pop(0):
            case Exception() as error:
                raise error
            case delay:
                return delay

    monkeypatch.setattr(random, "uniform", lambda *_: 1)
    queue = WorkQueue(work, first_delay=1, max_delay=10)
    add = queue.add

    def note(key: str, delay: float = 0) -> None:
        found.append(delay)
        if outcomes:
            add(key)

    monkeypatch.setattr(queue, "add", note)
    add("a")
    while outcomes:
        await settle(queue)
        if outcomes:
            add("a")
    assert found == delays


async def test_a_queue_that_ends_leaves_nothing_to_come() -> None:
    queue = WorkQueue(noting([]))
    task = asyncio.create_task(queue.run())
    await asyncio.sleep(0)
    queue.add("a", 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [timer.cancelled() for timer in queue._timers.values()] == [True]


async def test_a_key_that_is_added_many_times_runs_once_and_the_earliest_wish_counts() -> None:
    seen: list[str] = []
    queue = WorkQueue(noting(seen))
    for key, delay in (("a", 3600), ("a", 0.001), ("a", 3600), ("b", 3600), ("b", 0), ("b", 0)):
        queue.add(key, delay)
    await settle(queue)
    assert sorted(seen) == ["a", "b"]


async def test_lanes_take_turns_so_that_one_full_lane_delays_nobody_else() -> None:
    seen: list[str] = []
    queue = WorkQueue(noting(seen), workers=1, lane_of=lambda key: key[0])
    for number in range(50):
        queue.add(f"a{number}")
    for key in ("b0", "c0", "b1"):
        queue.add(key)
    await settle(queue)
    assert seen[:6] == ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert sorted(seen) == sorted([*(f"a{number}" for number in range(50)), "b0", "b1", "c0"])


async def test_a_lane_that_is_filled_again_and_again_leaves_the_others_their_turn() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)
        if key.startswith("a") and "b3" not in seen:
            queue.add(f"a{len(seen)}")

    queue = WorkQueue(work, workers=1, lane_of=lambda key: key[0])
    for key in ("a-first", "a-second", "b0", "b1", "b2", "b3"):
        queue.add(key)
    await settle(queue)
    assert seen.index("b3") == 7


async def test_the_lag_of_a_key_lasts_until_it_did_not_fail() -> None:
    """What is only due again has none, and neither has what waits for something else."""
    times = {"broken": 2, "later": 1, "again": 1}
    seen: list[float] = []

    async def work(key: str) -> float | None:
        seen.append(queue.oldest)
        if not times.get(key):
            return None
        times[key] -= 1
        if key == "broken":
            raise ValueError("not yet")
        if key == "later":
            raise RetryLater(0.001)
        return 0.001

    queue = WorkQueue(work, first_delay=0.001)
    assert queue.oldest == 0
    for key in ("broken", "later", "again", "fine"):
        queue.add(key)
    assert (queue.done, queue.failed, queue.postponed) == (0, 0, 0)
    await settle(queue)
    assert (queue.done, queue.failed, queue.postponed) == (4, 2, 1)
    assert all(seen[:3])
    assert queue.lag > 0
    assert queue.oldest == 0


async def test_a_worker_that_fails_as_it_is_cancelled_ends_too() -> None:
    """A library may turn the cancellation into an error of its own; nobody would cancel the worker again."""
    began = asyncio.Event()

    async def work(key: str) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("broken off") from None

    queue = WorkQueue(work, workers=1)
    queue.add("a")
    task = asyncio.create_task(queue.run())
    await began.wait()
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    ended = task.done()
    for left in asyncio.all_tasks() - {asyncio.current_task()}:
        left.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert ended
