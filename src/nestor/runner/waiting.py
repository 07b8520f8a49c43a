"""Waiting for a fresh nested cluster: from nothing at all to an API that takes an app."""

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
    start, said, has_answered = clock.seconds(), 0.0, False
    while (trouble := await _probe(api)) is not None:
        waited = clock.seconds() - start
        if isinstance(trouble, Missing) and not has_answered:
            show(f"the nested API answers after {waited:.1f} s; {trouble}")
            has_answered = True
        if waited > limit:
            raise NoApi(f"the nested API at {api.host} did not get ready within {limit:g} s: {trouble}")
        if waited - said >= SAY_EVERY:
            show(f"still waiting for the nested API after {waited:.0f} s: {trouble}")
            said = waited
        # Always about a twentieth of the wait so far: a start of 3 s is noticed 0.15 s late, a lost cluster costs little.
        await clock.sleep(min(LONGEST_PAUSE, max(FIRST_PAUSE, waited / 20)))
    show(f"the nested cluster takes apps (waited {clock.seconds() - start:.1f} s)")


class Missing(str):
    """Trouble of an API that answers already."""

    __slots__ = ()


async def _probe(api: Api) -> str | None:
    """What is missing; None when nothing is.

    `/readyz` alone is too early: the server makes its namespaces a moment later, and bare pods are refused until the
    controller manager has made their service account. Steps that do not retry must not fail by that.
    """
    try:
        await api.request("GET", "/readyz", timeout=PROBE_LIMIT)
        for kind, name, namespace in (
            (kinds.NAMESPACE, "kube-system", None),
            (kinds.SERVICE_ACCOUNT, "default", "default"),
        ):
            if await api.find(kind, name, namespace) is None:
                return Missing(f"{kind.name} '{name}' is not there yet")
    except Unreachable as error:
        return error.message.removeprefix("GET /readyz: ")
    except ApiError as error:
        return str(error).partition("\n")[0]
    return None
