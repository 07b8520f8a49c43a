"""Requests that go out at the same time.

Not by asyncio's own ways: before Python 3.13, whoever is cancelled in the moment in which one of several tasks fails gets that
failure from them and goes on, as if nobody had cancelled him.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any


async def together(*work: Awaitable[Any]) -> list[Any]:
    """All at once; the first failure ends the others and is raised as it is."""
    tasks = [asyncio.ensure_future(item) for item in work]
    failed: list[asyncio.Future[Any]] = []
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        failed = [task for task in tasks if task.done() and not task.cancelled() and task.exception() is not None]
    finally:
        await _end(task for task in tasks if not task.done())
    return [task.result() for task in failed or tasks]


async def each_to_its_end(*work: Awaitable[Any]) -> list[Any]:
    """All at once, and none is ended by another's failure: what it had begun to write would be unknown. Then the first failure,
    in the order of the arguments, is raised as it is.
    """
    found = await asyncio.gather(*work, return_exceptions=True)
    for item in found:
        if isinstance(item, BaseException):
            raise item
    return found


async def _end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel them, each once, and await their ends. Who is cancelled meanwhile is cancelled after that."""
    left, cancelled = set(tasks), False
    for task in left:
        task.cancel()
    while left:
        try:
            done, left = await asyncio.wait(left)
        except asyncio.CancelledError:
            cancelled = True
            continue
        for task in done:
            if not task.cancelled():
                task.exception()  # of no interest by now, and asyncio would tell of one that nobody has asked for
    if cancelled:
        raise asyncio.CancelledError
