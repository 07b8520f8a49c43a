"""Copies events of host pods, claims and snapshots to the nested ones, for the tenant.

Events are passed on as they come, and none is kept: pods that come and go leave thousands an hour. Those of the time before this
process started are left out.
"""

import contextlib
import logging

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import Change, Conflict, Forbidden, Invalid, NotFound, WorkQueue, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import messages
from nestor.pods.translate.target import nested_key, nested_uid
from nestor.syncer.copies.memory import Patience
from nestor.syncer.translate import snapshots, storage
from nestor.syncer.view.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

WAITING_LIMIT = 2000
"""Events that wait for the nested API server. Beyond that, new ones are dropped: nobody reads so many."""

_BINDER = "persistentvolume-controller"
_OF_BINDER = frozenset({"ExternalProvisioning", "FailedBinding", "WaitForFirstConsumer", "WaitForPodScheduled"})
"""What the nested cluster's own binder says as well."""
_KINDS = {kind.name: kind for kind in (kinds.POD, kinds.PERSISTENT_VOLUME_CLAIM, kinds.VOLUME_SNAPSHOT)}
_WORDS = {"Pod": messages.build_words, "PersistentVolumeClaim": storage.build_words, "VolumeSnapshot": snapshots.build_words}
_COUNTED = ("count", "lastTimestamp", "series", "message")


class EventController:
    """Copies events whose objects are known."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._waiting: dict[Key, Object] = {}
        self._patience: Patience[Key] = Patience(6, 0.3)
        self.queue: WorkQueue[Key] = WorkQueue(self._reconcile, workers=2, name="events", max_delay=RETRY_LIMIT)
        context.caches.host_events.on_change(self._on_event)

    def _on_event(self, change: Change) -> None:
        if not _is_told(change.latest):
            return
        if change.key not in self._waiting and len(self._waiting) >= WAITING_LIMIT:
            log.debug("dropping event %s: too many are waiting", change.key[1])
            return
        self._waiting[change.key] = change.latest
        self.queue.add(change.key)

    async def _reconcile(self, key: Key) -> None:
        event = self._waiting.get(key)
        if event is None:
            return
        host, nested = self._find_objects(event)
        if nested is None:
            # An event may arrive before its object. Most without one are about others', or deleted ones.
            self._patience.wait(key, "the object of an event")
        else:
            words = _WORDS[event["involvedObject"]["kind"]](nested, self._context.target, host)
            # The namespace is terminating, or the nested server is too old for the event: not worth a retry.
            with contextlib.suppress(Forbidden, Invalid, NotFound):
                await self._write(build_event(event, nested, words))
        self._patience.forget(key)
        if self._waiting.get(key) is event:  # else it has happened again meanwhile
            del self._waiting[key]

    def _find_objects(self, event: Object) -> tuple[Object | None, Object | None]:
        about, caches = event["involvedObject"], self._context.caches
        kind = _KINDS[about["kind"]]
        host = caches.host(kind).get(about.get("name", ""), self._context.target.namespace)
        if host is None or host["metadata"]["uid"] != about.get("uid"):
            return None, None
        if kind is kinds.POD:
            return host, caches.nested_by_uid.get(nested_uid(host))
        namespace, name = nested_key(host)
        nested = caches.nested(kind).get(name, namespace)
        return host, nested if nested is not None and nested["metadata"]["uid"] == nested_uid(host) else None

    async def _write(self, event: Object) -> None:
        if _count(event) > 1 and await self._count_up(event):
            return
        try:
            await self._context.nested.create(kinds.EVENT, event)
        except Conflict:  # copied by an earlier process
            await self._count_up(event)

    async def _count_up(self, event: Object) -> bool:
        """Write how often it has happened; False if the copy is gone."""
        meta = event["metadata"]
        change = {key: event[key] for key in _COUNTED if key in event}
        try:
            await self._context.nested.patch(kinds.EVENT, meta["name"], meta["namespace"], change)
        except NotFound:
            return False
        return True


def _is_told(event: Object) -> bool:
    """Whether the event is about an object of ours, in words that the nested cluster does not have."""
    kind = event["involvedObject"].get("kind")
    if kind == "PersistentVolumeClaim":
        by = event.get("reportingComponent") or (event.get("source") or {}).get("component")
        return by != _BINDER or event.get("reason") not in _OF_BINDER
    return kind in _KINDS


def _count(event: Object) -> int:
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


_FIELDS = ("type", "reason", "count", "firstTimestamp", "lastTimestamp", "eventTime", "series", "action")
_SOURCES = ("reportingComponent", "reportingInstance", "source")
_NAME_LIMIT = 200


def build_event(event: Object, nested: Object, words: dict[str, str]) -> Object:
    """The nested event. Its name derives from the host event, so a repeated event updates it instead of adding another."""
    meta, kind = nested["metadata"], event["involvedObject"]["kind"]
    about = {"apiVersion": nested.get("apiVersion", "v1"), "kind": kind}
    about |= {key: meta[key] for key in ("name", "namespace", "uid")}
    if path := event["involvedObject"].get("fieldPath"):
        about["fieldPath"] = path
    own = {key: event[key] for key in (*_FIELDS, *_SOURCES) if event.get(key) is not None}
    name = f"{meta['name'][:_NAME_LIMIT]}.{names.digest(event['metadata']['uid'], length=16)}"
    return own | {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": meta["namespace"]},
        "involvedObject": about,
        "message": messages.translate(event.get("message") or "", words)[:1024],
    }
