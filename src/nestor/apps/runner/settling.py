"""Steps in the first second of a cluster's life.

The API answers before the controllers run, without which no pod is accepted. Waiting for them would cost every job that time;
most templates (Deployments, Services …) do not need them yet. So a step begins at once, and only if it fails in that first
second is it repeated, uncounted, once the controllers run: no step fails because of our own start. A script must not be
repeated without being asked for, so scripts wait.
"""

from collections.abc import Callable

from nestor.api.contracts.cluster import READY_PATH, ROOT_CA
from nestor.apps.runner.attempt import Attempt, Clock, Execute
from nestor.apps.runner.command import Outcome
from nestor.apps.steps.types import TYPES
from nestor.kube import Api, ApiError, Unreachable, kinds

LIMIT_SECONDS = 60.0
PAUSE_SECONDS = 0.2
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
PROBE_LIMIT = 3.0
SAY_EVERY = 10.0


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
        attempt.show("the cluster was still starting; this is repeated once its controllers run and does not count as an attempt")
        await self._wait()
        return await self._execute(attempt)

    async def _wait(self) -> None:
        deadline = self._clock.seconds() + LIMIT_SECONDS
        while not await self._check() and self._clock.seconds() < deadline:
            await self._clock.sleep(PAUSE_SECONDS)

    async def _check(self) -> bool:
        if not self._is_settled:
            try:
                self._is_settled = await self._api.find(kinds.CONFIG_MAP, ROOT_CA, "default") is not None
            except ApiError:
                return False
        return self._is_settled


class NoApi(Exception):
    """The nested API did not answer in time; the message says what was seen last."""


async def wait_for_api(api: Api, clock: Clock, limit: float, show: Callable[[str], None]) -> None:
    """Return as soon as the API takes an app. Raises `NoApi` after `limit` seconds."""
    show(f"waiting for the nested API at {api.host}")
    start, said = clock.seconds(), 0.0
    while (trouble := await _probe(api)) is not None:
        waited = clock.seconds() - start
        if waited > limit:
            raise NoApi(f"the nested API at {api.host} was not ready within {limit:g} s: {trouble}")
        if waited - said >= SAY_EVERY:
            show(f"still waiting for the nested API after {waited:.0f} s: {trouble}")
            said = waited
        # Always about a twentieth of the wait so far: a start of 3 s is noticed 0.15 s late, a lost cluster costs little.
        await clock.sleep(min(LONGEST_PAUSE, max(FIRST_PAUSE, waited / 20)))
    show(f"the nested API answers (waited {clock.seconds() - start:.1f} s)")


async def _probe(api: Api) -> str | None:
    """What is missing; None when nothing is. Its being ready alone is too early: it makes its namespaces a moment later."""
    try:
        await api.request("GET", READY_PATH, timeout=PROBE_LIMIT)
        for name in ("kube-system", "default"):
            if await api.find(kinds.NAMESPACE, name) is None:
                return f"namespace '{name}' does not exist yet"
    except Unreachable as error:
        return error.message.removeprefix(f"GET {READY_PATH}: ")
    except ApiError as error:
        return str(error).partition("\n")[0]
    return None
