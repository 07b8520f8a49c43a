"""The life of a process: until a signal comes, or one of its parts ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def run_until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it ends, or SIGTERM or SIGINT comes. Raises what it raises."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    task = asyncio.ensure_future(work)
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
    waiting.cancel()
    if not task.cancelled():
        task.result()


async def must_run(part: Coroutine[Any, Any, None], name: str) -> None:
    """Run a part that should never end. Raises `RuntimeError` if it does."""
    await part
    raise RuntimeError(f"{name} stopped")
