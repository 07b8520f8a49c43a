"""Watches that are late on purpose: `make late SEED=3`, or `WATCH_DELAY=0.5 SEED=3 pytest …`.

Half of the kinds, by the seed, reach operator, syncers and virtual nodes so many seconds later than the others. Tests see them
at once. So whoever takes what the test has seen for what a process knows fails here each time, and not once in a hundred runs;
a few seeds bring each two kinds into each order.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from pathlib import Path

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Kind
from tests.integration import apiserver
from tests.integration.requests.recorder import Recorder

DELAY, SEED = float(os.environ.get("WATCH_DELAY") or 0), os.environ.get("SEED") or "0"
_MANAGERS = ("nestor-syncer", "nestor-vnode")


def find_delay(plural: str) -> float:
    """How many seconds the events of a kind are late."""
    return DELAY if random.Random(f"{SEED} {plural}").random() < 0.5 else 0


@contextlib.asynccontextmanager
async def kubeconfig_of(plane: apiserver.ControlPlane, user: str) -> AsyncIterator[Path]:
    """A user's kubeconfig for a process of its own, for the length of a `with` block."""
    own = plane.kubeconfig_of(user)
    if not DELAY:
        yield own
        return
    async with await Api.connect(str(own)) as api, Recorder({"late": api}, lambda _: False, find_delay).serving() as proxy:
        yield proxy.write_kubeconfig("late", own.with_suffix(".late"))


@contextlib.contextmanager
def late_here() -> Iterator[None]:
    """The same for syncers and virtual nodes in this very process."""
    watch = Api.watch

    async def watch_late(api: Api, kind: Kind, namespace: str | None, query: dict[str, str]) -> AsyncGenerator[Object, None]:
        delay = find_delay(kind.plural) if api._manager in _MANAGERS else 0
        async with contextlib.aclosing(watch(api, kind, namespace, query)) as events:
            async for event in _hold_back(events, delay) if delay else events:
                yield event

    with pytest.MonkeyPatch.context() as patch:
        if DELAY:
            patch.setattr(Api, "watch", watch_late)
        yield


async def _hold_back(events: AsyncGenerator[Object, None], delay: float) -> AsyncGenerator[Object, None]:
    """Each so much later, and not after each other."""
    held: asyncio.Queue[tuple[float, Object | None]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def read() -> None:
        try:
            async for event in events:
                held.put_nowait((loop.time() + delay, event))
        finally:
            held.put_nowait((loop.time(), None))

    reading = asyncio.create_task(read())
    try:
        while True:
            due, event = await held.get()
            if event is None:
                await reading  # raises what the server said
                return
            await asyncio.sleep(due - loop.time())
            yield event
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
