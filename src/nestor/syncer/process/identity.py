"""What this process was started with: its NestedCluster, identified by UID, and its certificates. With others, it ends.

The old NestedCluster owns all host objects, so the garbage collector deletes them, and the status that this process remembers
having written is not that of the new one. Certificates are read once, at the start; open connections keep the old ones, and API
servers reject expired ones even there. The container restarts within a second.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from nestor.api.contracts.syncer import ACCESS_FILES
from nestor.kube import Change, Informer


class Outdated(Exception):
    """What this process was started with is no more. Says what."""


async def watch_cluster(cluster: Informer, uid: str) -> None:
    """Raise `Outdated` once a NestedCluster with another UID appears. Deletion of our own is not a replacement.

    Begin before the informer runs.
    """
    replaced = asyncio.Event()

    def look(change: Change) -> None:
        if change.new is not None and change.new["metadata"]["uid"] != uid:
            replaced.set()

    cluster.on_change(look)
    await replaced.wait()
    raise Outdated("the NestedCluster was deleted and recreated")


CHECK_SECONDS = 60.0
"""The kubelet takes about a minute anyway to write a changed Secret into the pod."""


async def watch(access: Path, first: str | None, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
    """Raise `Outdated` once the credentials in the folder are complete and their digest differs from `first`."""
    while True:
        await sleep(CHECK_SECONDS)
        now = read_digest(access)
        if now is not None and now != first:
            raise Outdated(f"the credentials in {access} were renewed")


def read_digest(access: Path) -> str | None:
    """A digest of the files' contents; None while one of them is missing."""
    try:
        return hashlib.sha256(b"\0".join((access / name).read_bytes() for name in ACCESS_FILES)).hexdigest()
    except OSError:
        return None
