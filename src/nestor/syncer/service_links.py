"""Service links: a host ConfigMap per nested namespace with the variables that a kubelet would make of its Services."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from nestor.api import labels
from nestor.kube import Change, WorkQueue, kinds
from nestor.objects import Object
from nestor.syncer.context import RETRY_LIMIT, Context
from nestor.syncer.copies import ensure_copy
from nestor.translate import env, service_env
from nestor.translate.target import nested_key

_PURPOSE = "service-links"


class LinksController:
    """Keeps the links of each namespace that has pods; a pod reads them when it starts."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._written: dict[str, dict[str, str]] = {}
        self.queue = WorkQueue(self._reconcile, workers=2, name="service-links", max_delay=RETRY_LIMIT)
        context.caches.nested_services.on_change(self._on_nested)
        context.caches.nested_pods.on_change(self._on_pod)
        context.caches.host_config_maps.on_change(self._on_host)

    async def ensure(self, namespace: str) -> None:
        """Have this namespace's links as they are now."""
        services = self._context.caches.services_by_namespace.all(namespace)
        links = service_env.build_links(
            item for item in services if (namespace, item["metadata"]["name"]) != ("default", "kubernetes")
        )
        async with self._locks[namespace]:
            if self._written.get(namespace) != links:
                await self._write(namespace, links)
                self._written[namespace] = links

    async def _write(self, namespace: str, links: dict[str, str]) -> None:
        # No nested object stands behind it; the selector of synced objects wants a UID all the same.
        about: Object = {"metadata": {"name": "", "namespace": namespace, "uid": _PURPOSE}}
        metadata = self._context.target.metadata(about, name=env.links_name(namespace))
        metadata["labels"][labels.PURPOSE] = _PURPOSE
        desired = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": links}
        await ensure_copy(self._context.host, kinds.CONFIG_MAP, self._host(namespace), desired)

    def _on_nested(self, change: Change) -> None:
        if self._context.caches.pods_by_namespace.all(change.key[0]):
            self.queue.add(change.key[0])

    def _on_pod(self, change: Change) -> None:
        if change.new is None:
            self.queue.add(change.key[0])

    def _on_host(self, change: Change) -> None:
        if change.latest["metadata"]["labels"].get(labels.PURPOSE) == _PURPOSE:
            namespace = nested_key(change.latest)[0]
            if change.new is None:
                self._written.pop(namespace, None)
            self.queue.add(namespace)

    async def _reconcile(self, namespace: str) -> None:
        if self._context.caches.pods_by_namespace.all(namespace):
            await self.ensure(namespace)
            return
        async with self._locks[namespace]:
            host = self._host(namespace)
            if host is not None and not self._context.caches.pods_by_namespace.all(namespace):
                self._written.pop(namespace, None)
                meta = host["metadata"]
                await self._context.host.delete(kinds.CONFIG_MAP, meta["name"], meta["namespace"], uid=meta["uid"])

    def _host(self, namespace: str) -> Object | None:
        return self._context.caches.host_config_maps.get(env.links_name(namespace), self._context.target.namespace)
