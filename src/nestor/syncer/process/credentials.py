"""The process's own certificates, which the operator renews in their Secret long before they expire.

They are read once, at the start. Open connections keep the old ones, and API servers reject expired certificates even there.
So the process exits when the files change, and its container restarts within a second.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from nestor.contracts.syncer import ACCESS_FILES

CHECK_SECONDS = 60.0
"""The kubelet takes about a minute anyway to write a changed Secret into the pod."""


class Renewed(Exception):
    """The credential files differ from those that this process started with."""


async def watch(access: Path, first: str | None, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Raise `Renewed` once the credentials in the folder are complete and their digest differs from `first`."""
    while True:
        await sleep(CHECK_SECONDS)
        now = read_digest(access)
        if now is not None and now != first:
            raise Renewed(f"the credentials in {access} were renewed")


def read_digest(access: Path) -> str | None:
    """A digest of the files' contents; None while one of them is missing."""
    try:
        return hashlib.sha256(b"\0".join((access / name).read_bytes() for name in ACCESS_FILES)).hexdigest()
    except OSError:
        return None
