"""The process' own certificates, which the operator renews in their Secret long before they end.

They are read once, at the start: by then open connections hold the old ones as well, and an API server refuses an expired
certificate on those too. So when the files change the process ends, and its container begins anew within a second.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from nestor.contracts.syncer import ACCESS_FILES

CHECK_SECONDS = 60.0
"""The kubelet itself takes about a minute to write a changed Secret into the pod."""


class Renewed(Exception):
    """The files are others than those that this process began with."""


async def watch(access: Path, first: str | None, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Raise `Renewed` once the credentials in the folder are others than `first`, and complete."""
    while True:
        await sleep(CHECK_SECONDS)
        now = read_digest(access)
        if now is not None and now != first:
            raise Renewed(f"the credentials in {access} were renewed")


def read_digest(access: Path) -> str | None:
    """Changes with what the files say; None while one of them is missing."""
    try:
        return hashlib.sha256(b"\0".join((access / name).read_bytes() for name in ACCESS_FILES)).hexdigest()
    except OSError:
        return None
