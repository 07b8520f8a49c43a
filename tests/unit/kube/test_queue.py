"""The work queue: order, no overlap, no lost key, back-off."""

import asyncio
from collections import Counter

import pytest

from nestor.kube import RetryLater, WorkQueue


async def settle(queue: WorkQueue[str]) -> None:
    """Run the queue until nothing waits, runs or is due."""
    task = asyncio.create_task(queue.run())
    async with asyncio.timeout(10):
        await queue.idle.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_key_added_many_times_runs_once() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)

    queue = WorkQueue(work, workers=2)
    for key in "abab":
        queue.add(key)
    await settle(queue)
    assert sorted(seen) == ["a", "b"]


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


async def test_failures_are_retried_until_they_succeed() -> None:
    attempts = 0

    async def work(key: str) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 4:
            raise ValueError("not yet")

    queue = WorkQueue(work, first_delay=0.001)
    queue.add("a")
    await settle(queue)
    assert attempts == 4


async def test_retry_later_comes_back_without_counting_as_a_failure() -> None:
    attempts = 0

    async def work(key: str) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise RetryLater(0.001)

    queue = WorkQueue(work, first_delay=100)
    queue.add("a")
    await settle(queue)
    assert attempts == 3


async def test_the_earliest_wish_counts() -> None:
    seen: list[str] = []

    async def work(key: str) -> None:
        seen.append(key)

    queue = WorkQueue(work)
    queue.add("a", 3600)
    queue.add("a", 0.001)
    queue.add("b", 3600)
    queue.add("b")
    await settle(queue)
    assert sorted(seen) == ["a", "b"]


@pytest.mark.parametrize("is_raised", [False, True])
async def test_a_delay_that_work_returns_or_raises_brings_the_key_back(is_raised: bool) -> None:
    seen: list[str] = []

    async def work(key: str) -> float | None:
        seen.append(key)
        if len(seen) == 3:
            return None
        if is_raised:
            raise RetryLater(0.001)
        return 0.001

    queue = WorkQueue(work)
    queue.add("a")
    await settle(queue)
    assert seen == ["a", "a", "a"]
