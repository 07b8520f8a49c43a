"""The one way to begin anew: the process ends, and its container starts again within a second. Pods run on meanwhile."""

from __future__ import annotations

import asyncio

from nestor.kube import Api, ApiError, kinds

REFUSAL_LIMIT = 3
"""How often in a row it may refuse the certificate: once may be a glitch."""
UNAUTHORIZED = 401
PAUSE_SECONDS = 2.0


class Restart(Exception):
    """What this process was started with is not so any more."""


class IdentityRefused(Restart):
    """The API server does not accept a node's certificate any more, although it is valid: its authorities were replaced."""


async def check_accepted(api: Api, node: str) -> None:
    """Return unless it is refused, again and again. Raises `IdentityRefused`. `api` acts as the node."""
    for attempt in range(REFUSAL_LIMIT):
        await asyncio.sleep(PAUSE_SECONDS if attempt else 0)
        try:
            await api.find(kinds.NODE, node)
        except ApiError as error:
            if error.status == UNAUTHORIZED:
                continue
        return
    raise IdentityRefused(f"the certificate of node '{node}' is not accepted")
