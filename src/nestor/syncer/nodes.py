"""Host nodes that run this cluster's pods, mirrored into the nested cluster for as long as they do."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict

from nestor.kube import Change, Conflict, RetryLater, WorkQueue, kinds
from nestor.objects import Object, labels_of
from nestor.syncer.context import RETRY_LIMIT, Context
from nestor.syncer.translate import node as translate

LINGER_SECONDS = 30
"""How long an unused node stays: a pod's successor usually comes back to it."""


class NodeController:
    """Makes a node when its first pod is bound, follows its host node, removes it after its last pod."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._known: set[str] = set()
        self._unused: dict[str, float] = {}
        self.queue = WorkQueue(self._reconcile, workers=4, name="nodes", max_delay=RETRY_LIMIT)
        context.caches.nested_nodes.on_change(self._on_node)
        context.caches.host_nodes.on_change(lambda change: self.queue.add(change.key[1]))
        context.caches.nested_pods.on_change(self._on_pod)
        context.caches.on_suspend(self._on_suspend)

    async def ensure(self, name: str) -> None:
        """Have the nested node `name`; returns at once for one that is known."""
        if name in self._known:
            return
        async with self._locks[name]:
            if name in self._known:
                return
            host = self._context.caches.host_nodes.get(name) or await self._context.host.get(kinds.NODE, name)
            with contextlib.suppress(Conflict):
                await self._context.nested.create(kinds.NODE, translate.build_node(host, self._context.target.kubelet_port))
            self._known.add(name)

    def _on_node(self, change: Change) -> None:
        name = change.key[1]
        if change.new is None:
            self._known.discard(name)
        else:
            self._known.add(name)
        self.queue.add(name)

    def _on_pod(self, change: Change) -> None:
        before, now = ((pod or {"spec": {}})["spec"].get("nodeName") for pod in (change.old, change.new))
        if before != now:
            for name in filter(None, (before, now)):
                self.queue.add(name)

    def _on_suspend(self) -> None:
        for node in self._context.caches.nested_nodes:
            self.queue.add(node["metadata"]["name"])

    async def _reconcile(self, name: str) -> None:
        caches = self._context.caches
        host, nested = caches.host_nodes.get(name), caches.nested_nodes.get(name)
        # A suspended cluster keeps its nodes: its DaemonSets' pods wait for them, and go with them.
        used = bool(caches.nested_by_node.all(name)) or (caches.is_suspended and nested is not None)
        if used:
            self._unused.pop(name, None)
        if nested is None:
            if used and host is not None:
                await self.ensure(name)
        elif not translate.is_ours(nested):
            return
        elif host is None:
            await self._remove(name, nested)
        elif not used:
            await self._retire(name, nested)
        else:
            await self._update(nested, translate.build_node(host, self._context.target.kubelet_port))

    async def _retire(self, name: str, nested: Object) -> None:
        now = time.monotonic()
        left = self._unused.setdefault(name, now) + LINGER_SECONDS - now
        if left > 0:
            raise RetryLater(left, "unused")
        async with self._locks[name]:
            if not (self._context.caches.nested_by_node.all(name) or self._context.caches.is_suspended):
                # From here on `ensure` makes it again instead of trusting in it.
                self._known.discard(name)
                await self._remove(name, nested)

    async def _remove(self, name: str, nested: Object) -> None:
        await self._context.nested.delete(kinds.NODE, name, uid=nested["metadata"]["uid"])

    async def _update(self, nested: Object, desired: Object) -> None:
        if translate.is_current(nested, desired):
            return
        name, there = desired["metadata"]["name"], labels_of(nested)
        gone = {key: None for key in there if key not in desired["metadata"]["labels"]}
        api = self._context.nested
        metadata = {"labels": desired["metadata"]["labels"] | gone}
        await api.patch(kinds.NODE, name, None, {"metadata": metadata, "spec": desired["spec"]})
        await api.patch(kinds.NODE, name, None, {"status": desired["status"]}, subresource="status")
