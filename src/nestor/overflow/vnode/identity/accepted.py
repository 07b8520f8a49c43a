"""Whether the API server accepts a node's certificate, which is valid by itself."""

from __future__ import annotations

import asyncio

from nestor.kube import Api, ApiError, kinds
from nestor.overflow.vnode.restart import IdentityRefused

REFUSAL_LIMIT = 3
"""How often in a row it may refuse the certificate: once may be a glitch."""
UNAUTHORIZED = 401
PAUSE_SECONDS = 2.0


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
