"""Waiting for a fresh nested cluster: from nothing at all to an API with its namespaces."""

from __future__ import annotations

from collections.abc import Callable

from nestor.kube import Api, ApiError, Unreachable, kinds
from nestor.runner.clock import Clock

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
PROBE_LIMIT = 3.0
SAY_EVERY = 10.0


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
    """What is missing; None when nothing is. `/readyz` alone is too early: the server makes its namespaces a moment later."""
    try:
        await api.request("GET", "/readyz", timeout=PROBE_LIMIT)
        for name in ("kube-system", "default"):
            if await api.find(kinds.NAMESPACE, name) is None:
                return f"namespace '{name}' does not exist yet"
    except Unreachable as error:
        return error.message.removeprefix("GET /readyz: ")
    except ApiError as error:
        return str(error).partition("\n")[0]
    return None
