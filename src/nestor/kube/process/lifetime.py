"""The life of a process: until a signal comes, or one of its parts ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def run_until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it ends, SIGTERM or SIGINT comes, or this is cancelled; returns after its end. Raises what it raises."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    task = asyncio.ensure_future(work)
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()  # if it has ended, this does nothing
        waiting.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)
    if not task.cancelled():
        task.result()


def spawn(group: asyncio.TaskGroup, part: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    """Run a part that should never end in a group, which ends if it does."""
    task = group.create_task(must_run(part, name), name=name)
    task.add_done_callback(lambda _: part.close())  # of a task that was cancelled before it began
    return task


def find_first(error: BaseException) -> BaseException:
    """The first error of a group, or of groups in it; another error is returned as it is."""
    return find_first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def must_run(part: Coroutine[Any, Any, None], name: str) -> None:
    """Run a part that should never end. Raises `RuntimeError` if it does."""
    await part
    raise RuntimeError(f"{name} stopped")
