"""Ends the process when its NestedCluster, identified by UID, is deleted and recreated.

The old NestedCluster owns all host objects, so the garbage collector deletes them, and the status that this process remembers
having written is not that of the new one. So the process exits, and its container restarts within a second, as with new
credentials.
"""

from __future__ import annotations

import asyncio

from nestor.kube import Change, Informer


class Replaced(Exception):
    """The NestedCluster is not the one that this process started with."""


class Identity:
    """Observes the NestedCluster. Create it before the informer runs."""

    def __init__(self, cluster: Informer, uid: str) -> None:
        self._uid = uid
        self._name = ""
        self._is_replaced = asyncio.Event()
        cluster.on_change(self._look)

    def _look(self, change: Change) -> None:
        if change.new is not None and change.new["metadata"]["uid"] != self._uid:
            self._name = change.key[1]
            self._is_replaced.set()

    async def watch(self) -> None:
        """Raise `Replaced` once a NestedCluster with another UID appears. Deletion of our own is not a replacement."""
        await self._is_replaced.wait()
        raise Replaced(f"NestedCluster '{self._name}' was deleted and recreated")
