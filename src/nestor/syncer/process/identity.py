"""Which NestedCluster the process serves: the one that was there when it began, by its UID.

Host objects are owned by that one, and what was written of its status is remembered. When it is deleted and made anew under
its name, the garbage collector takes all that names the old one as its owner, and the new one's status is empty. So the
process ends, and its container begins anew within a second, as with new credentials.
"""

from __future__ import annotations

import asyncio

from nestor.kube import Change, Informer


class Replaced(Exception):
    """The NestedCluster is another than the one that this process began with."""


class Identity:
    """Looks at each state of the NestedCluster. Made before its informer runs."""

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
        """Raise `Replaced` once there is another; its own one's end is none of it."""
        await self._is_replaced.wait()
        raise Replaced(f"NestedCluster '{self._name}' was deleted and recreated")
