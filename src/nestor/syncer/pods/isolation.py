"""Which host pods are isolated by policies of the nested cluster, from before they run on."""

import asyncio
from collections.abc import Callable

from nestor.api.objects import Object
from nestor.kube import Change, RetryLater, kinds
from nestor.syncer.translate import network_policy
from nestor.syncer.view.context import Context

_PATIENCE_SECONDS = 0.05


class Isolation:
    """Knows the policies of pods, and asks for them before a pod is created: the watch of policies may be late."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._metadata = context.nested.with_metadata_only()
        self._next: dict[str, asyncio.Task[list[Object]]] = {}
        """By namespace, lists that have not begun."""
        self._turn = asyncio.Lock()
        self._policies = context.caches.by_namespace(kinds.NETWORK_POLICY)
        self._pods = context.caches.by_namespace(kinds.POD)
        self.wake: Callable[[str], None] = lambda _uid: None
        """Has somebody look at a pod whose policies change."""
        context.caches.nested(kinds.NETWORK_POLICY).on_change(self._on_policy)

    async def ensure(self, pod: Object) -> None:
        """Have all policies in the cache that are older than the pod. Raises `RetryLater` until they are."""
        cache = self._context.caches.nested(kinds.NETWORK_POLICY)
        namespace = pod["metadata"]["namespace"]
        for found in await self._list(namespace):
            meta = found["metadata"]
            known = cache.get(meta["name"], namespace)
            if known is None or int(known["metadata"]["resourceVersion"]) < int(meta["resourceVersion"]):
                raise RetryLater(_PATIENCE_SECONDS, f"NetworkPolicy '{meta['name']}' is not known yet")

    async def _list(self, namespace: str) -> list[Object]:
        """What a list finds that begins after this call. All who wait for one share it: the slower the server, the more do."""
        if namespace not in self._next:
            self._next[namespace] = asyncio.create_task(self._read(namespace))
        return await self._next[namespace]

    async def _read(self, namespace: str) -> list[Object]:
        # One at a time of all: users can make many policies with long annotations, in many namespaces.
        async with self._turn:
            del self._next[namespace]  # who asks from now on needs a newer one
            return await self._metadata.list(kinds.NETWORK_POLICY, namespace, trim=_trim)

    def find(self, pod: Object) -> dict[str, str]:
        return network_policy.find_isolation(pod, self._policies.all(pod["metadata"]["namespace"]))

    def _on_policy(self, change: Change) -> None:
        for pod in self._pods.all(change.key[0]):
            self.wake(pod["metadata"]["uid"])


def _trim(policy: Object) -> Object:
    return {"metadata": {key: policy["metadata"][key] for key in ("name", "resourceVersion")}}
