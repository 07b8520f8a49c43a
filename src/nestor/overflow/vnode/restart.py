"""The one way to begin anew: the process ends, and its container starts again within a second. Pods run on meanwhile."""

import asyncio

from nestor.kube import Api, ApiError, kinds

REFUSAL_LIMIT = 3
"""How often in a row it may refuse the certificate: once may be a glitch."""
UNAUTHORIZED = 401
LOOK_SECONDS, PAUSE_SECONDS = 30.0, 2.0
"""Between two looks; after a refusal."""


class Restart(Exception):
    """What this process was started with is not so any more."""


class IdentityRefused(Restart):
    """The API server does not accept a node's certificate any more, although it is valid: its authorities were replaced."""


async def watch_identity(api: Api, node: str) -> None:
    """Ask for the node until its certificate is refused again and again. Raises `IdentityRefused`. `api` acts as the node.

    Nobody else finds out: caches and other parts try again and again.
    """
    refusals = 0
    while True:
        try:
            await api.find(kinds.NODE, node)
            refusals = 0
        except ApiError as error:
            refusals = refusals + 1 if error.status == UNAUTHORIZED else 0
        if refusals >= REFUSAL_LIMIT:
            raise IdentityRefused(f"the certificate of node '{node}' is not accepted")
        await asyncio.sleep(PAUSE_SECONDS if refusals else LOOK_SECONDS)
