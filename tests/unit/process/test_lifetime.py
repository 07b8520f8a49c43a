"""How processes end: by a signal in order, and with any part that ends by itself."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from nestor.process.lifetime import must_run, run_until_signal


async def test_a_part_that_ends_is_an_error() -> None:
    async def part() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="watch stopped"):
        await must_run(part(), "watch")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    ended = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(10):
            await run_until_signal(work())
    finally:
        for used in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(used)
    assert ended


async def test_what_it_raises_is_raised() -> None:
    async def work() -> None:
        raise ValueError("broken")

    loop = asyncio.get_running_loop()
    try:
        with pytest.raises(ValueError, match="broken"):
            await run_until_signal(work())
    finally:
        for used in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(used)
