"""Finds pods at the backend whose host pods are gone, where the backend can list its pods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from nestor.overflow.vnode.backend.health import Health, describe
from nestor.overflow.vnode.pods.entry import build_entry
from nestor.overflow.vnode.pods.registry import Registry
from nestor.pods.providers.base import Lists

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0


class OrphanFinder:
    """Has pods ended that belong to nobody. `find_nodes` returns all nodes of the backend, also those that are being removed."""

    def __init__(self, lists: Lists, registry: Registry, health: Health, find_nodes: Callable[[], frozenset[str]]) -> None:
        self._lists = lists
        self._registry = registry
        self._health = health
        self._find_nodes = find_nodes
        self._suspects: frozenset[str] = frozenset()
        self.found = 0

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Take those that nobody knew the last time either: a new pod may be at the backend before our caches show it.

        While the pods of one node are not known, every pod might be one of those.
        """
        nodes = self._find_nodes()
        if not nodes or nodes != self._registry.nodes:
            self._suspects = frozenset()
            return
        try:
            with self._health.noting():
                pods = {pod["metadata"]["uid"]: pod for pod in await self._lists.list()}
        except Exception as error:
            log.info("the backend's pods cannot be listed: %s", describe(error))
            return
        unknown = {uid: pod for uid, pod in pods.items() if self._registry.get(uid) is None}
        for uid in self._suspects & unknown.keys():
            meta = unknown[uid]["metadata"]
            log.warning("pod %s/%s at the backend has no host pod any more: it is ended", meta.get("namespace"), meta.get("name"))
            self.found += 1
            self._registry.adopt(build_entry(self._registry.homes[0], unknown[uid]))
        self._suspects = frozenset(unknown) - self._suspects
