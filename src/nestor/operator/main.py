"""`nestor operator`: the process, of which one works while the others stand by; and what helm runs beside it."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from nestor.kube import Api, process
from nestor.kube.election import Election, LeaseLost
from nestor.kube.serving.pages import METRICS, Pages
from nestor.operator import gauges, handlers, logs
from nestor.operator.settings import Settings, read_settings
from nestor.operator.wiring import Operator
from nestor.operator.world.context import Cache, Context
from nestor.operator.world.host_facts import HostUnknown, read_host
from nestor.operator.world.trim import OWN, TRIMS

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
        election = Election(api, settings.lease, settings.namespace, settings.place, settings.lease_seconds)
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


log = logging.getLogger(__name__)

RECURSION_LIMIT = 30_000
"""An API server accepts objects nested up to 10,000 levels deep (Go's JSON decoder), and any user can write one. With Python's
default limit of 1,000, neither we nor kopf could even parse its JSON, and the operator would crash for everybody. Measured:
reading and writing such JSON needs less than half of the usual 8 MiB stack.
"""


async def run_operator(settings: Settings, stop: asyncio.Event, kubeconfig: str | None = None) -> None:
    """The whole operator, for the process and for tests. If there is a Lease, it begins when it holds that."""

    async def work(fence: Fence | None) -> None:
        async with await Api.connect(kubeconfig, manager="nestor") as api:
            api.fence = fence
            for kind in OWN:
                api.trim(kind, TRIMS[kind])
            host = await read_host(api, settings.service_cidr, settings.dns)
            cache = Cache(api, settings.namespace)
            context = Context.create(api, settings, cache, host)
            log.info("nestor operator: Service ranges %s, API at %s", ", ".join(host.service_cidrs), api.host)
            await handlers.run(Operator(context), stop)

    await lead(settings, stop, kubeconfig, work)


def _set_up_logging(settings: Settings) -> None:
    process.set_up_log(settings.log_level.upper(), logs.JsonFormatter() if settings.log_format == "json" else None)


def main(arguments: list[str]) -> int:
    """Run the process. Returns 0 after SIGTERM or SIGINT, 1 after an error."""
    if arguments[:1] == ["uninstall"]:
        from nestor.operator import uninstall  # noqa: PLC0415 - once in an operator's life

        return uninstall.main(arguments[1:])
    if arguments[:1] == ["upgrade"]:
        from nestor.operator import upgrade  # noqa: PLC0415 - likewise

        return upgrade.main()
    settings = read_settings(arguments)
    _set_up_logging(settings)
    sys.setrecursionlimit(RECURSION_LIMIT)
    code = 0
    try:
        asyncio.run(run_operator(settings, asyncio.Event()))
    except* (HostUnknown, LeaseLost) as errors:  # any part that writes may be the first to hear of a Lease that is lost
        log.error("%s", process.find_first(errors))
        code = 1
    except* Exception:
        log.exception("nestor operator stopped by an error")
        code = 1
    return code
