"""`nestor operator`: the process; and `nestor operator uninstall`."""

from __future__ import annotations

import asyncio
import logging
import sys

from nestor.kube import Api, process
from nestor.kube.election import LeaseLost
from nestor.operator import handlers, leadership, logs
from nestor.operator.flags import read_settings
from nestor.operator.settings import Settings
from nestor.operator.wiring import Operator
from nestor.operator.world.cache import Cache
from nestor.operator.world.context import Context
from nestor.operator.world.host_facts import HostUnknown, read_host
from nestor.operator.world.trim import OWN_TRIMS

log = logging.getLogger(__name__)

RECURSION_LIMIT = 30_000
"""An API server accepts objects nested up to 10,000 levels deep (Go's JSON decoder), and any user can write one. With Python's
default limit of 1,000, neither we nor kopf could even parse its JSON, and the operator would crash for everybody. Measured:
reading and writing such JSON needs less than half of the usual 8 MiB stack.
"""


async def run_operator(settings: Settings, stop: asyncio.Event, kubeconfig: str | None = None) -> None:
    """The whole operator, for the process and for tests. If there is a Lease, it begins when it holds that."""

    async def work(fence: leadership.Fence | None) -> None:
        async with await Api.connect(kubeconfig, manager="nestor") as api:
            api.fence = fence
            for kind, trim in OWN_TRIMS.items():
                api.trim(kind, trim)
            host = await read_host(api, settings.service_cidrs, settings.dns)
            cache = Cache(api, settings.namespace)
            context = Context.create(api, settings, cache, host)
            log.info("nestor operator: Service ranges %s, API at %s", ", ".join(host.service_cidrs), api.host)
            await handlers.run(Operator(context), stop)

    await leadership.lead(settings, stop, kubeconfig, work)


def _set_up_logging(settings: Settings) -> None:
    process.set_up_log(settings.log_level.upper(), logs.JsonFormatter() if settings.log_format == "json" else None)


def main(arguments: list[str]) -> int:
    """Run the process. Returns 0 after SIGTERM or SIGINT, 1 after an error."""
    if arguments[:1] == ["uninstall"]:
        from nestor.operator import uninstall  # noqa: PLC0415 - once in an operator's life

        return uninstall.main(arguments[1:])
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
