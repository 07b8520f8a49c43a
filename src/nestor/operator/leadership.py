"""Of several operators, one works; the others stand by, and answer their probes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from nestor.kube import Api
from nestor.kube.election import Election, Times
from nestor.kube.serving.pages import METRICS, Pages
from nestor.operator import gauges
from nestor.operator.settings import Settings

REQUEST_SECONDS = 5
"""A request about the Lease that takes longer is made again. Its client is its own: it waits for no other request."""
END_SECONDS = 10.0
"""How long the work may take to end when the Lease is lost. It can write nothing by then."""

Fence = Callable[[], float]
"""For how many seconds one may still write. Raises what whoever writes is to get instead."""
Work = Callable[[Fence | None], Coroutine[Any, Any, None]]


async def lead(settings: Settings, stop: asyncio.Event, kubeconfig: str | None, work: Work) -> None:
    """Do the work once this process holds the Lease, and as long. Returns when it is done, or `stop` is set before that.

    Raises `LeaseLost` when another process has it; the caller must end, because something of the work may still be there.
    """
    if not settings.lease:
        await work(None)
        return
    async with await Api.connect(kubeconfig, manager="nestor", timeout=REQUEST_SECONDS) as api:
        election = Election(api, settings.lease, settings.namespace, settings.place, Times.of(settings.lease_seconds))
        if await _stand_by(election, settings, stop):
            await _work(election, work)


async def _work(election: Election, work: Work) -> None:
    working = asyncio.create_task(work(election.find_left), name="work")
    keeping = asyncio.create_task(election.keep(), name="lease")
    try:
        await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await keeping
        await working
    finally:
        keeping.cancel()
        working.cancel()
        _, left = await asyncio.wait({working, keeping}, timeout=END_SECONDS)
        if working not in left:
            await election.release()


async def _stand_by(election: Election, settings: Settings, stop: asyncio.Event) -> bool:
    """Await the Lease. False: the process is told to end."""
    texts = {METRICS: gauges.write_standby} if settings.metrics else {}
    pages = Pages({"/healthz": lambda: None, "/readyz": lambda: None}, texts)
    loop, numbers = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    waits = {
        asyncio.create_task(pages.serve(settings.port), name="health"),
        asyncio.create_task(stop.wait(), name="stop"),
        (acquiring := asyncio.create_task(election.acquire(), name="lease")),
    }
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    # The handlers stay until kopf sets its own: a process in a container would not even hear of signals without any.
    if stop.is_set():
        await election.release()
        return False
    return acquiring in done
