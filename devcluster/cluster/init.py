"""Process 1 of namespaces of their own, whatever runs in them: to its end, with a state that tells why it failed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from devcluster.cluster import state
from devcluster.cluster.logs import tail
from devcluster.cluster.paths import RuntimePaths
from devcluster.cluster.processes import ComponentEnded

P = TypeVar("P", bound=RuntimePaths)


def run(layout: P, name: str, prepare: Callable[[P], None], work: Callable[[P], Awaitable[None]]) -> int:
    """Make the surroundings, then work until told to stop; the exit code. `name` is the component that we are."""
    layout.state.unlink(missing_ok=True)

    async def start() -> None:
        await work(layout)

    try:
        prepare(layout)
        asyncio.run(start())
    except ComponentEnded as ended:
        message = f"{ended}\n{tail(layout.base.log / f'{ended.name}.log')}"
        state.save(layout.state, state.State("Failed", message, ended.name))
        return 1
    except Exception as error:
        logging.exception("%s failed", name)
        state.save(layout.state, state.State("Failed", f"{type(error).__name__}: {error}", name))
        return 1
    return 0
