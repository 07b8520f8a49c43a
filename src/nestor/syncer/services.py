"""Services: each nested one that selects pods has a host Service with the same cluster IP.

Both clusters give out addresses of one range, each without knowing the other's. Where the host has given an address away
already, the host chooses a free one and the nested Service is made again with it.
"""

from __future__ import annotations

import json
import logging
import time

from nestor import names
from nestor.api import labels
from nestor.kube import ApiError, Change, Conflict, Invalid, RetryLater, WorkQueue, kinds
from nestor.kube.informer import Key
from nestor.objects import Object, annotations_of
from nestor.syncer.context import RETRY_LIMIT, Context
from nestor.syncer.translate import service as translate
from nestor.translate.target import nested_key, nested_uid

log = logging.getLogger(__name__)

_RELEASE_SECONDS = 5


class ServiceController:
    """Carries nested Services to the host."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: set[str] = set()
        self._released: dict[str, float] = {}
        self.queue: WorkQueue[Key] = WorkQueue(self._reconcile, workers=8, name="services", max_delay=RETRY_LIMIT)
        context.caches.nested_services.on_change(lambda change: self.queue.add(change.key))
        context.caches.host_services.on_change(self._on_host)

    def _on_host(self, change: Change) -> None:
        if change.new is None:
            self._released[change.latest["spec"].get("clusterIP", "")] = time.monotonic()
        self.queue.add(nested_key(change.latest))

    async def _reconcile(self, key: Key) -> None:
        namespace, name = key
        caches, target = self._context.caches, self._context.target
        nested = caches.nested_services.get(name, namespace)
        host = caches.host_services.get(names.host_name(name, namespace), target.namespace)
        if nested is None:
            await self._after(host)
            return
        fate = translate.decide_fate(nested)
        if fate == "Refused":
            await self._tell(nested)
        if fate != "Synced":
            await self._remove(host)
        elif host is None:
            await self._create(nested)
        else:
            await self._update(nested, host)

    async def _create(self, nested: Object) -> None:
        desired = translate.build_service(nested, self._context.target, nested["spec"]["clusterIP"])
        try:
            await self._context.host.create(kinds.SERVICE, desired)
        except Conflict:
            raise RetryLater(0.1, "another host Service of this name is still there") from None
        except Invalid as error:
            if not _is_taken(error):
                await self._context.recorder.post(nested, "Warning", "ServiceNotSynced", error.message)
                return
            if self._is_being_released(nested["spec"]["clusterIP"]):
                raise RetryLater(0.1, "the host has not taken the address back yet") from None
            await self._context.host.create(kinds.SERVICE, translate.build_service(nested, self._context.target, None))

    def _is_being_released(self, address: str) -> bool:
        """True shortly after a host Service of ours with this address was deleted: its address comes free a moment later."""
        now = time.monotonic()
        self._released = {key: when for key, when in self._released.items() if when > now - _RELEASE_SECONDS}
        return address in self._released

    async def _update(self, nested: Object, host: Object) -> None:
        same_address = host["spec"].get("clusterIP") == nested["spec"]["clusterIP"]
        if not same_address and nested_uid(host) == nested["metadata"]["uid"]:
            await self._replace_nested(nested, host)
        elif not same_address:  # the nested one was made again by its owner
            await self._remove(host)
        else:
            desired = translate.build_service(nested, self._context.target, nested["spec"]["clusterIP"])
            if not translate.is_current(host, desired):
                meta, patch = host["metadata"], translate.build_patch(host, desired)
                patch["metadata"]["annotations"][labels.SUCCESSOR] = None
                await self._context.host.patch(kinds.SERVICE, meta["name"], meta["namespace"], patch)

    async def _replace_nested(self, nested: Object, host: Object) -> None:
        """Make the nested Service again with the host's address. The host Service remembers it meanwhile: we may die here."""
        address, meta = host["spec"]["clusterIP"], host["metadata"]
        log.info("Service %s moves to %s: its address is taken in the host cluster", nested["metadata"]["name"], address)
        note = json.dumps(translate.build_successor(nested, address), separators=(",", ":"))
        patch = {"metadata": {"annotations": {labels.SUCCESSOR: note}}}
        await self._context.host.patch(kinds.SERVICE, meta["name"], meta["namespace"], patch)
        own = nested["metadata"]
        await self._context.nested.delete(kinds.SERVICE, own["name"], own["namespace"], uid=own["uid"])

    async def _after(self, host: Object | None) -> None:
        """The nested Service is gone: for good, or because it is being made again."""
        note = annotations_of(host).get(labels.SUCCESSOR) if host else None
        if host is None or note is None:
            await self._remove(host)
            return
        successor = json.loads(note)
        try:
            await self._context.nested.create(kinds.SERVICE, successor)
        except Conflict:
            return
        except Invalid as error:
            if not _is_taken(error):
                raise
            # Free on the host, taken in the nested cluster: let both choose anew, the nested cluster first.
            del successor["spec"]["clusterIP"]
            await self._remove(host)
            await self._context.nested.create(kinds.SERVICE, successor)

    async def _remove(self, host: Object | None) -> None:
        if host is not None:
            meta = host["metadata"]
            await self._context.host.delete(kinds.SERVICE, meta["name"], meta["namespace"], uid=meta["uid"])

    async def _tell(self, nested: Object) -> None:
        uid = nested["metadata"]["uid"]
        if uid not in self._told:
            self._told.add(uid)
            await self._context.recorder.post(
                nested,
                "Warning",
                "ServiceNotSynced",
                "`spec.selector` must be set: Services with endpoints of their own are not offered here",
            )


def _is_taken(error: ApiError) -> bool:
    """True when the server refused a cluster IP because it has given it away, or has another range."""
    return "failed to allocate IP" in error.message or "provided IP" in error.message
