"""One runner at a time: an attempt is ended as soon as another runner has taken over the record.

A pod that its node's kubelet no longer reports (a network that is cut, a Node object that is deleted) may be replaced while its
processes live on. They can reach the nested API, and so learn there that they have a successor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nestor.apps.runner.attempt import Attempt, Execute
from nestor.apps.runner.clock import Clock
from nestor.apps.runner.command import Outcome

POLL_SECONDS = 2.0
"""How long a runner that was replaced may go on."""


class Fence:
    """Executes steps by `execute`; `check` raises when they must not go on."""

    def __init__(self, check: Callable[[], Awaitable[None]], clock: Clock, execute: Execute) -> None:
        self._check = check
        self._clock = clock
        self._execute = execute

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt. Raises what `execute` raises, or what `check` does once all processes of the attempt have ended."""
        work, watch = asyncio.ensure_future(self._execute(attempt)), asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else watch.result()
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _watch(self) -> Outcome:
        while True:
            await self._clock.sleep(POLL_SECONDS)
            await self._check()
