"""Follows the facts about the host cluster: an API server gets another address, a cluster another Service range."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterable

from nestor.kube import ApiError
from nestor.operator.world.context import Context
from nestor.operator.world.host_facts import HostUnknown, read_host

log = logging.getLogger(__name__)

SECONDS = 60
"""How soon network policies follow."""


async def keep_host(context: Context, on_change: Callable[[], None], delays: Iterable[float] | None = None) -> None:
    """Read the facts again periodically. What is not readable stays as it was."""
    for delay in delays or itertools.repeat(SECONDS):
        await asyncio.sleep(delay)
        try:
            found = await read_host(context.api, context.settings.service_cidrs, context.settings.dns)
        except (ApiError, HostUnknown) as error:
            log.info("the facts about the host cannot be read: %s", error)
            continue
        if found != context.host and (found.api_addresses or not context.host.api_addresses):
            log.info("Service ranges are now %s, API addresses %s", *map(", ".join, (found.service_cidrs, found.api_addresses)))
            context.host = found
            on_change()
