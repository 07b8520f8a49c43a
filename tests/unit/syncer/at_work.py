"""Parts of a syncer at work, between two API servers in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

from nestor.kube import Api, WorkQueue
from nestor.kube.events import EventRecorder
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET


def build_context(host: MemoryApi, nested: MemoryApi) -> Context:
    """What the controllers of a syncer have, with caches that are empty."""
    there, here = cast(Api, host), cast(Api, nested)
    return Context(there, here, TARGET, Caches(there, here, TARGET), EventRecorder(here, "test"))


@contextlib.asynccontextmanager
async def at_work(caches: Caches, *queues: WorkQueue[Any]) -> AsyncIterator[None]:
    """The caches, and once they are full the queues, from the start of a syncer to its end."""
    tasks = [asyncio.create_task(informer.run()) for informer in caches]
    try:
        await caches.wait_for_sync()
        tasks += [asyncio.create_task(queue.run()) for queue in queues]
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def calm(apis: Sequence[MemoryApi], count: Callable[[], int]) -> None:
    """Until all news have arrived and are worked off, apart from what is to be tried again later. `count`: what is left."""
    async with asyncio.timeout(60):
        turns = 0
        while turns < 5:
            await asyncio.sleep(0)
            turns = turns + 1 if all(api.is_quiet for api in apis) and not count() else 0


async def breathe() -> None:
    """Whatever can go on now goes on, even if something else is stuck."""
    for _ in range(50):
        await asyncio.sleep(0)
