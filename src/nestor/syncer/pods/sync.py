"""Syncs a running pair of pods: the tenant's changes go down to the host, binding and status come up."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from nestor.kube import Conflict, Forbidden, NotFound, RetryLater, kinds
from nestor.objects import Object
from nestor.providers import base as providers
from nestor.providers.base import InvalidInput, NotYet, Provider
from nestor.syncer.copies.memory import Told
from nestor.syncer.view.context import Context
from nestor.times import timestamp
from nestor.translate import messages, refusals, status, update


class PodSyncer:
    """Writes what differs, by subresource, so that neither side overwrites what the other owns."""

    def __init__(self, context: Context, provider: Provider, ensure_node: Callable[[str], Awaitable[None]]) -> None:
        self._context = context
        self._provider = provider
        self._ensure_node = ensure_node
        self._told: Told[str] = Told()

    async def sync(self, nested: Object, host: Object) -> None:
        """Sync a pair once. If the nested pod is gone or replaced meanwhile, another event follows."""
        with contextlib.suppress(NotFound, Conflict):
            await self._bind(nested, host)
            await self.write_status(nested, status.build_status(nested, host, self._context.target))
        try:
            await self._push(nested, host)
        except providers.NotFound:
            pass  # another event follows
        except NotYet as error:
            raise RetryLater(1, error.message) from None
        except InvalidInput as error:
            await self._tell(nested, messages.translate(error.message, messages.build_words(nested, self._context.target, host)))

    def forget(self, uid: str) -> None:
        """Forget the messages about a pod that is gone."""
        self._told.forget(uid)

    async def write_status(self, nested: Object, desired: Object) -> None:
        """Patch the nested pod's status if it differs."""
        patch = status.build_patch(nested, desired)
        if patch is not None:
            meta = nested["metadata"]
            await self._context.nested.patch(
                kinds.POD, meta["name"], meta["namespace"], patch, subresource="status", how="strategic"
            )

    async def lose(self, nested: Object, last: Object | None) -> None:
        """The host pod was deleted: fail the nested pod, so that its controller replaces it."""
        with contextlib.suppress(NotFound, Conflict):
            await self.write_status(nested, status.build_lost(nested, last, self._context.target, timestamp()))

    async def _bind(self, nested: Object, host: Object) -> None:
        node = host["spec"].get("nodeName")
        if not node:
            return
        await self._ensure_node(node)
        if nested["spec"].get("nodeName"):
            return
        meta = nested["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._context.nested.create(kinds.POD, binding, subresource="binding", name=meta["name"])
        except Conflict:
            pass  # bound already; the cache lags behind
        except Forbidden as error:
            if not error.is_terminating:  # otherwise the pod disappears with its namespace
                raise

    async def _push(self, nested: Object, host: Object) -> None:
        target, caches = self._context.target, self._context.caches
        if patch := update.build_update(nested, host, target):
            await self._provider.patch(host, patch)
        if nested["spec"].get("ephemeralContainers") and (found := refusals.find_debug_refusals(nested, caches.policy)):
            await self._tell(nested, "; ".join(found))
        # The policy is read here, not before: it may change during each request above.
        if patch := update.build_debug(nested, host, target, caches.policy):
            await self._provider.patch(host, patch, "ephemeralcontainers")
        if patch := update.build_resize(nested, host):
            await self._provider.patch(host, patch, "resize")
        if patch := status.build_gates(nested, host):
            await self._provider.patch(host, patch, "status")

    async def _tell(self, nested: Object, message: str) -> None:
        """Report once that the host refused a change. The pod keeps running unchanged."""
        uid = nested["metadata"]["uid"]
        if self._told.is_news(uid, message):
            await self._context.recorder.post(nested, "Warning", "PodUpdateRefused", message)
