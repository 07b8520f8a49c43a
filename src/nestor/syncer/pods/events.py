"""Events of host pods, told to the tenant about the nested pods."""

from __future__ import annotations

import contextlib

from nestor.kube import Change, Conflict, Forbidden, Invalid, NotFound, RetryLater, WorkQueue, kinds
from nestor.kube.informer import Key
from nestor.objects import Object
from nestor.syncer.translate import event as translate
from nestor.syncer.view.context import RETRY_LIMIT, Context
from nestor.translate import messages
from nestor.translate.target import nested_uid

_COUNTED = ("count", "lastTimestamp", "series", "message")
_PATIENCE = 3


class EventController:
    """Copies events while their pods are known."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._missing: dict[Key, int] = {}
        self.queue: WorkQueue[Key] = WorkQueue(self._reconcile, workers=2, name="events", max_delay=RETRY_LIMIT)
        context.caches.host_events.on_change(self._on_event)

    def _on_event(self, change: Change) -> None:
        if change.new is not None:
            self.queue.add(change.key)

    async def _reconcile(self, key: Key) -> None:
        event = self._context.caches.host_events.get(key[1], key[0])
        if event is None:
            self._missing.pop(key, None)
            return
        host, nested = self._find_pods(event)
        if nested is None:
            self._wait(key)
            return
        self._missing.pop(key, None)
        words = messages.build_words(nested, self._context.target, host)
        # Its namespace is going, or the nested server is too old for the event's form: no loss worth a retry.
        with contextlib.suppress(Forbidden, Invalid, NotFound):
            await self._write(translate.build_event(event, nested, words))

    def _find_pods(self, event: Object) -> tuple[Object | None, Object | None]:
        about, caches = event["involvedObject"], self._context.caches
        host = caches.host(kinds.POD).get(about.get("name", ""), self._context.target.namespace)
        if host is None or host["metadata"]["uid"] != about.get("uid"):
            return None, None
        return host, caches.nested_by_uid.get(nested_uid(host))

    def _wait(self, key: Key) -> None:
        """An event may overtake its pod; most events that find none are of other pods, or of gone ones."""
        count = self._missing[key] = self._missing.get(key, 0) + 1
        if count <= _PATIENCE:
            raise RetryLater(0.3 * count, "pod not seen yet")
        del self._missing[key]

    async def _write(self, event: Object) -> None:
        meta = event["metadata"]
        try:
            await self._context.nested.create(kinds.EVENT, event)
        except Conflict:
            change = {key: event[key] for key in _COUNTED if key in event}
            await self._context.nested.patch(kinds.EVENT, meta["name"], meta["namespace"], change)
