"""How processes end: by a signal in order, and with any part that ends by itself. Their log has one line for each entry."""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import AsyncIterator

import pytest

from nestor.kube.process import PlainFormatter, escape, find_first, run_until_signal, spawn


@pytest.fixture(autouse=True)
async def _no_handlers_left() -> AsyncIterator[None]:
    yield
    for used in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().remove_signal_handler(used)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_order_and_a_second_one_does_not_disturb_that(number: signal.Signals) -> None:
    ended = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(5):
                await asyncio.sleep(0.001)
            ended.append(True)
        return 0

    async with asyncio.timeout(10):
        assert await run_until_signal(work()) is None
    assert ended


async def test_what_it_raises_is_raised() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run_until_signal(work())


async def test_whoever_cancels_it_cancels_the_work() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    task = asyncio.create_task(run_until_signal(work()))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert ended
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_part_that_ends_ends_the_group() -> None:
    async def part() -> None:
        await asyncio.sleep(0)

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            spawn(group, part(), "watch")
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as found:
        await run()
    assert [str(error) for error in found.value.exceptions] == ["watch stopped"]


async def test_a_part_may_be_cancelled_before_it_begins() -> None:
    async def part() -> None:
        raise AssertionError("it has begun")

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            spawn(group, part(), "watch")
            raise ValueError("before its first step")

    with pytest.raises(ExceptionGroup) as found:
        await run()
    assert [str(error) for error in found.value.exceptions] == ["before its first step"]
    gc.collect()  # a coroutine that nobody has awaited warns here, and a warning fails the test


def test_the_first_error_is_found_however_deep() -> None:
    first, second = ValueError("a"), ValueError("b")
    assert find_first(ExceptionGroup("outer", [ExceptionGroup("inner", [first]), second])) is first
    assert find_first(second) is second


def write(message: str, error: BaseException | None = None) -> str:
    """An entry."""
    info = (type(error), error, error.__traceback__) if error else None
    return PlainFormatter().format(logging.LogRecord("nestor.x", logging.WARNING, "x.py", 1, "it says: %s", (message,), info))


@pytest.mark.parametrize(
    "nasty", ["a\n2026-01-01 00:00:00,000 ERROR   nestor: all is lost", "\r\x1b[2J", "\u2028\u202e", "\udc80", "\0"]
)
def test_what_others_say_forges_no_entry(nasty: str) -> None:
    text = write(nasty)
    assert text.isprintable()
    assert len(text.splitlines()) == 1


def test_other_texts_stay_as_they_are() -> None:
    assert write("grüße, 'x' – 5 s").endswith(" WARNING nestor.x: it says: grüße, 'x' – 5 s")
    assert escape("a\tb") == "a\\tb"


def test_an_exception_has_lines_of_its_own_that_look_like_no_entry() -> None:
    try:
        raise ValueError("one\n2026-01-01 00:00:00,000 ERROR   nestor: all is lost\x1b[2J")
    except ValueError as error:
        lines = write("x", error).split("\n")
    assert len(lines) > 3
    assert all(line.startswith("  ") and line.isprintable() for line in lines[1:])
