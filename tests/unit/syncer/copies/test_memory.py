"""What is remembered by key is forgotten again."""

from __future__ import annotations

import asyncio

import pytest

from nestor.syncer.copies.memory import Locks, Told


def test_the_same_is_told_once_until_it_is_over() -> None:
    told: Told[str] = Told()
    assert [told.is_news("a", "x"), told.is_news("a", "x"), told.is_news("a", "y"), told.is_news("b", "y")] == [
        True,
        False,
        True,
        True,
    ]
    told.forget("a")
    told.forget("never")
    assert told.is_news("a", "y")
    assert len(told) == 2


async def test_one_at_a_time_by_key_and_none_is_kept() -> None:
    locks: Locks[str] = Locks()
    log: list[str] = []

    async def work(key: str, name: str) -> None:
        async with locks.hold(key):
            log.append(f"{name} begins")
            await asyncio.sleep(0)
            log.append(f"{name} ends")

    await asyncio.gather(work("a", "one"), work("a", "two"), work("b", "three"))
    assert log.index("one ends") < log.index("two begins")
    assert log.index("three begins") < log.index("one ends")
    assert len(locks) == 0


async def test_one_that_fails_or_is_cancelled_leaves_no_lock() -> None:
    locks: Locks[str] = Locks()
    with pytest.raises(RuntimeError):
        async with locks.hold("a"):
            raise RuntimeError
    async with locks.hold("a"):
        waiting = asyncio.create_task(locks.hold("a").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert len(locks) == 0
