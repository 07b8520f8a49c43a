"""Syncs a running pair of pods: the tenant's changes go down to the host, binding and status come up."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable

from nestor.kube import Conflict, Forbidden, NotFound, RetryLater, kinds
from nestor.objects import Object
from nestor.providers import base as providers
from nestor.providers.base import InvalidInput, NotYet, Part, Provider
from nestor.syncer import limits
from nestor.syncer.copies.memory import Told
from nestor.syncer.view.context import Context
from nestor.times import timestamp
from nestor.translate import messages, refusals, status, update


class PodSyncer:
    """Writes what differs, by subresource, so that neither side overwrites what the other owns."""

    def __init__(
        self,
        context: Context,
        provider: Provider,
        ensure_node: Callable[[str], Awaitable[None]],
        find_clash: Callable[[Object], str],
    ) -> None:
        self._context = context
        self._provider = provider
        self._ensure_node = ensure_node
        self._find_clash = find_clash
        self._told: Told[str] = Told()
        self._dropped: set[str] = set()
        """Status fields that the nested API server is too old for."""

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

    def forget(self, uid: str) -> None:
        """Forget the messages about a pod that is gone."""
        self._told.forget(uid)

    async def write_status(self, nested: Object, desired: Object) -> None:
        """Patch the nested pod's status if it differs."""
        patch = status.build_patch(nested, status.without_fields(desired, self._dropped))
        if patch is not None:
            meta = nested["metadata"]
            answer = await self._context.nested.patch(
                kinds.POD, meta["name"], meta["namespace"], patch, subresource="status", how="strategic"
            )
            self._dropped |= status.find_dropped(patch, answer)

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
        found = refusals.find_debug_refusals(nested, caches.policy) if nested["spec"].get("ephemeralContainers") else []
        refused = [
            await self._send(nested, host, update.build_update(nested, host, target)),
            await self._send_debug(nested, host),
            await self._send(nested, host, update.build_resize(nested, host), "resize"),
            await self._send(nested, host, status.build_gates(nested, host), "status"),
        ]
        if not any(refused):
            await self._send(nested, host, update.build_mark(nested, host))
        if found := [*found, *filter(None, refused)]:
            await self._tell(nested, "; ".join(found))

    async def _send_debug(self, nested: Object, host: Object) -> str:
        # The policy is read here, not before: it may change during earlier requests.
        patch = update.build_debug(nested, host, self._context.target, self._context.caches.policy)
        if patch is not None and (message := self._find_clash(nested)):
            return message
        return await self._send(nested, host, patch, "ephemeralcontainers")

    async def _send(self, nested: Object, host: Object, patch: Object | None, part: Part = "") -> str:
        """Patch the host pod. Returns why that is refused, in nested words; the other patches do not depend on it."""
        if patch is not None:
            if message := self._find_excess(patch, part):
                return message
            try:
                await self._provider.patch(host, patch, part)
            except InvalidInput as error:
                return messages.translate(error.message, messages.build_words(nested, self._context.target, host))
        return ""

    def _find_excess(self, patch: Object, part: Part) -> str | None:
        """Why the patch would be too much. What replaces little with little may pass; debug containers are only ever added."""
        size = len(json.dumps(patch))
        if size <= limits.SMALL_BYTES and part != "ephemeralcontainers":
            return None
        return limits.find_excess(self._context.caches.copied_bytes.value, 0, size)

    async def _tell(self, nested: Object, message: str) -> None:
        """Report once that the host refused a change. The pod keeps running unchanged."""
        uid = nested["metadata"]["uid"]
        if self._told.is_news(uid, message):
            await self._context.recorder.post(nested, "Warning", "PodUpdateRefused", message)
