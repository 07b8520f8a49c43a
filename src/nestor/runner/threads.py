"""What writes files in a thread, where nothing can end it from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def run_to_its_end(work: Callable[[], T], stop: Callable[[], object] = lambda: None) -> T:
    """`work` in a thread. Who is cancelled meanwhile has `stop` called, and goes on only when the thread has ended: otherwise it
    would still write or remove files while the next attempt begins with them.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([task])
        raise
