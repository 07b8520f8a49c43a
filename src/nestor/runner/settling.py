"""Steps in the first second of a cluster's life.

The API answers before the controllers have made the service account without which no pod is accepted. Waiting for it would cost
every job that time; most templates (Deployments, Services …) do not need it yet. So a step begins at once, and only if it fails
in that first second is it repeated, uncounted, once the service account exists: no step fails because of our own start. A
script must not be repeated without being asked for, so scripts wait.
"""

from __future__ import annotations

from nestor.kube import Api, ApiError, kinds
from nestor.runner.attempt import Attempt, Execute
from nestor.runner.clock import Clock
from nestor.runner.command import Outcome
from nestor.steps.types import TYPES

LIMIT_SECONDS = 60.0
PAUSE_SECONDS = 0.2


class Settling:
    """Executes steps by `execute`; knows whether the cluster has settled."""

    def __init__(self, api: Api, clock: Clock, execute: Execute) -> None:
        self._api = api
        self._clock = clock
        self._execute = execute
        self._is_settled = False

    async def execute(self, attempt: Attempt) -> Outcome:
        """One attempt. Raises what `execute` raises."""
        had_settled = await self._check()
        if not had_settled and TYPES[attempt.step.type].is_script:
            await self._wait()
            had_settled = True
        outcome = await self._execute(attempt)
        if outcome.is_success or had_settled:
            return outcome
        attempt.show(
            "the cluster was still starting; this is repeated once it has its service account and does not count as an attempt"
        )
        await self._wait()
        return await self._execute(attempt)

    async def _wait(self) -> None:
        deadline = self._clock.seconds() + LIMIT_SECONDS
        while not await self._check() and self._clock.seconds() < deadline:
            await self._clock.sleep(PAUSE_SECONDS)

    async def _check(self) -> bool:
        if not self._is_settled:
            try:
                self._is_settled = await self._api.find(kinds.SERVICE_ACCOUNT, "default", "default") is not None
            except ApiError:
                return False
        return self._is_settled
