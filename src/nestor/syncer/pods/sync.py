"""Syncs a running pair of pods: the tenant's changes go down to the host, binding and status come up."""

import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nestor.api import labels, times
from nestor.api.objects import Object, annotations_of
from nestor.api.times import timestamp
from nestor.kube import Conflict, Forbidden, NotFound, RetryLater, kinds
from nestor.pods.providers import errors
from nestor.pods.providers.base import Part
from nestor.pods.providers.errors import InvalidInput, NotYet
from nestor.pods.providers.host import HostProvider
from nestor.pods.translate import messages, placement, pod, refusals, status, update
from nestor.pods.translate.gang import TAKEN_BACK, WAITING, explain_wait, is_held
from nestor.pods.translate.node_rules import find_backend
from nestor.syncer import limits
from nestor.syncer.copies.memory import Told
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.view.context import Context

OVERFLOWED = "PodOverflowed"
WARNING_SECONDS = 300
"""After so long, pods of a gang that still waits get a warning event."""


@dataclass
class PodSyncer:
    """Writes what differs, by subresource, so that neither side overwrites what the other owns."""

    context: Context
    provider: HostProvider
    ensure_node: Callable[[str], Awaitable[None]]
    gangs: Gangs
    isolation: Isolation

    def __post_init__(self) -> None:
        self._told: Told[str] = Told()
        self._bound: set[str] = set()
        """Pods that we have bound, whether or not the cache says so yet."""
        self._dropped: set[str] = set()
        """Status fields that the nested API server is too old for."""

    async def sync(self, nested: Object, host: Object) -> float | None:
        """Sync a pair once. If the nested pod is gone or replaced meanwhile, another event follows.

        Returns when to do it again although nothing has changed, in seconds; None: never.
        """
        try:
            try:
                # First: until then the pod is open, and what follows is for the nested cluster's admins to refuse, for ever.
                refused = await self._send(nested, host, update.build_isolation(host, self.isolation.find(nested)))
            finally:
                with contextlib.suppress(NotFound, Conflict):
                    desired = self._explain(host, status.build_status(nested, host, self.context.target))
                    # What the binding has written itself is no reason for a request; it goes with one that has another.
                    if not await self._bind(nested, host) or self._build_patch(nested, status.without_binding(desired)):
                        await self.write_status(nested, desired)
            await self._push(nested, host, refused)
        except errors.NotFound:
            pass  # another event follows
        except NotYet as error:
            raise RetryLater(1, error.message) from None
        return await self._look_after_gang(nested, host) if is_held(host) else None

    def forget(self, uid: str) -> None:
        self._told.forget(uid)
        self._bound.discard(uid)

    async def write_status(self, nested: Object, desired: Object) -> None:
        patch = self._build_patch(nested, desired)
        if patch is not None:
            meta = nested["metadata"]
            answer = await self.context.nested.patch(
                kinds.POD, meta["name"], meta["namespace"], patch, subresource="status", how="strategic"
            )
            self._dropped |= status.find_dropped(patch, answer)
            self.context.caches.nested(kinds.POD).put(answer)

    def _build_patch(self, nested: Object, desired: Object) -> Object | None:
        return status.build_patch(nested, status.without_fields(desired, self._dropped))

    async def lose(self, nested: Object, last: Object | None) -> None:
        """The host pod was deleted: fail the nested pod, so that its controller replaces it."""
        with contextlib.suppress(NotFound, Conflict):
            await self.write_status(nested, status.build_lost(nested, last, self.context.target, timestamp()))

    async def take_back(self, nested: Object, host: Object) -> None:
        """Fail a pod that runs, because its gang could not start as a whole. Its host pod ends next."""
        with contextlib.suppress(NotFound, Conflict):
            message = explain_wait(host, self.gangs.find_entry(host))
            await self.write_status(nested, status.build_disrupted(nested, host, self.context.target, TAKEN_BACK, message))

    def _explain(self, host: Object, desired: Object) -> Object:
        if not is_held(host):
            return desired
        return status.explain_gate(desired, WAITING, explain_wait(host, self.gangs.find_entry(host)))

    async def _look_after_gang(self, nested: Object, host: Object) -> float | None:
        """Tell once, after a while, that the pod's gang still waits. Returns in how many seconds to look again, if ever."""
        # Of the host pod: before, it was not the gang that the pod waited for, as while its cluster was suspended.
        age = times.seconds_since(host["metadata"]["creationTimestamp"])
        if age < WARNING_SECONDS:
            return WARNING_SECONDS - age
        message = f"has waited for {WARNING_SECONDS} s: {explain_wait(host, self.gangs.find_entry(host))}"
        await self.context.recorder.post_once(nested, "Warning", WAITING, message)
        return None

    async def _bind(self, nested: Object, host: Object) -> bool:
        """Bind the nested pod to its host pod's node. Returns whether we have done so, and `nested` does not say it yet."""
        node, meta = host["spec"].get("nodeName"), nested["metadata"]
        if not node:
            return False
        await self.ensure_node(node)
        if nested["spec"].get("nodeName") or meta["uid"] in self._bound:
            return not nested["spec"].get("nodeName")
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self.context.nested.create(kinds.POD, binding, subresource="binding", name=meta["name"])
        except Conflict:
            pass  # bound already; the cache lags behind
        except Forbidden as error:
            if not error.is_terminating:  # otherwise the pod disappears with its namespace
                raise
        else:
            self._bound.add(meta["uid"])
            await self._tell_place(nested, host, node)
        return meta["uid"] in self._bound

    async def _tell_place(self, nested: Object, host: Object, node: str) -> None:
        """Report that a pod has overflowed, to which backend, and why."""
        if annotations_of(host).get(labels.PLACE, "Host") == "Host":
            return
        if backend := await self._find_backend(node):
            message = f"runs on node '{node}' of backend '{backend}': {placement.explain(host)}"
            await self.context.recorder.post(nested, "Normal", OVERFLOWED, message)

    async def _find_backend(self, node: str) -> str | None:
        """The backend of a host node, which is asked for if it is not watched yet, as that of the first pod on it."""
        caches = self.context.caches
        found = caches.host_nodes.get(node) or await self.context.host.find(kinds.NODE, node)
        return find_backend(found, caches.policy.places) if found is not None else None

    async def _push(self, nested: Object, host: Object, before: str) -> None:
        """Bring the tenant's changes down. `before`: why one before these was refused, or empty."""
        target, caches = self.context.target, self.context.caches
        found = refusals.find_debug_refusals(nested, caches.policy) if nested["spec"].get("ephemeralContainers") else []
        found += refusals.find_image_refusals(nested, pod.applied(host).get("images") or {}, caches.policy)
        refused = [
            before,
            await self._send(nested, host, self.gangs.build_release(host)),
            await self._send(nested, host, update.build_update(nested, host, target, caches.policy)),
            # The policy is read here, not before: it may change during earlier requests.
            await self._send(nested, host, update.build_debug(nested, host, target, caches.policy), "ephemeralcontainers"),
            await self._send(nested, host, await self._build_patience(host)),
            await self._send(nested, host, update.build_resize(nested, host), "resize"),
            await self._send(nested, host, status.build_gates(nested, host), "status"),
        ]
        if not any(refused):
            await self._send(nested, host, update.build_mark(nested, host))
        if found := [*found, *filter(None, refused)]:
            await self._tell(nested, "; ".join(found))

    async def _build_patience(self, host: Object) -> Object | None:
        patch, node = update.build_patience(host, self.context.caches.policy), host["spec"].get("nodeName")
        return patch if patch and node and await self._find_backend(node) else None

    async def _send(self, nested: Object, host: Object, patch: Object | None, part: Part = "") -> str:
        """Patch the host pod. Returns why that is refused, in nested words; the other patches do not depend on it."""
        if patch is not None:
            if message := self._find_excess(patch, part):
                return message
            try:
                await self.provider.patch(host, patch, part)
            except InvalidInput as error:
                return messages.translate(error.message, messages.build_words(nested, self.context.target, host))
        return ""

    def _find_excess(self, patch: Object, part: Part) -> str | None:
        """Why the patch would be too much. What replaces little with little may pass; debug containers are only ever added."""
        size = len(json.dumps(patch))
        if size <= limits.SMALL_BYTES and part != "ephemeralcontainers":
            return None
        return limits.find_excess(self.context.caches.copied_bytes.value, 0, size)

    async def _tell(self, nested: Object, message: str) -> None:
        """Report once that the host refused a change. The pod keeps running unchanged."""
        uid = nested["metadata"]["uid"]
        if self._told.is_news(uid, message):
            await self.context.recorder.post(nested, "Warning", "PodUpdateRefused", message)
