"""Keeps the copies of one kind up to date. All kinds share this code; their specifics are in their rows.

Level-triggered: reconciling looks at the current state of a key, whatever changed, so late or repeated runs do no harm.
"""

import time

from nestor.api.objects import Object
from nestor.kube import Change, Forbidden, Invalid, RetryLater, WorkQueue
from nestor.kube.informer import Key, key_of
from nestor.kube.tasks import each_to_its_end
from nestor.pods.providers.host import EXCEEDED
from nestor.pods.translate import messages
from nestor.syncer import limits
from nestor.syncer.copies.copier import Copier
from nestor.syncer.copies.memory import Told
from nestor.syncer.copies.row import Row
from nestor.syncer.view.context import RETRY_LIMIT

_WORKERS = 8


class Engine:
    """Decides what becomes of the copies of one row, and sees to it."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.copier = Copier(row)
        self._refused: Told[Key] = Told()
        self._ignored: Told[Key] = Told()
        self._unused: dict[Key, float] = {}
        self.name = row.name or row.kind.plural
        self.queue: WorkQueue[Key] = WorkQueue(
            self._reconcile, workers=_WORKERS, name=self.name, max_delay=RETRY_LIMIT, begin=self._await_caches
        )
        if row.sources is not None:
            row.sources.on_change(self._on_source)
        row.copies.on_change(self._on_copy)
        row.wake = self.queue.add

    async def _await_caches(self) -> None:
        """Those of kinds that a cluster may not have are filled after all others, or never."""
        for cache in self.row.read:
            await cache.synced.wait()

    async def ensure_needs(self, pod: Object) -> None:
        """Make sure that the copies exist that this pod needs; call it before the pod is created."""
        await each_to_its_end(*(self.ensure(key) for key in self.row.find_needs(pod)))

    async def ensure(self, key: Key) -> None:
        """Make sure that the copy exists. If the source is missing, `Row.missing` decides; by default, the copy follows later."""
        if self.row.ensures == "Presence" and self.copier.find(key) is not None:
            return
        source = self.row.find_source(key) or await self._fetch(key)
        if source is None:
            self.row.missing(key)
            return
        self.row.patience.forget(key)
        if message := self.row.find_refusal(source):
            raise Forbidden(403, "Forbidden", f"{self.row.kind.name} '{key[1]}': {message}")
        await self.copier.write(key, source)

    async def _fetch(self, key: Key) -> Object | None:
        """The source, read from the API server: the cache may not have it yet, or leave it out."""
        if self.row.sources is None:
            return None
        kind = self.row.kind
        found = await self.row.source_api.find(kind, key[1], key[0] or None)
        return {"apiVersion": kind.api_version, "kind": kind.name} | found if found is not None else None

    def _on_source(self, change: Change) -> None:
        key = change.key
        if change.new is None:
            self._refused.forget(key)
            self._ignored.forget(key)
        row, source = self.row, change.latest
        if row.is_wanted(key, source) or row.find_refusal(source) or self.copier.find(key) is not None:
            self.queue.add(key)

    def _on_copy(self, change: Change) -> None:
        key = self.row.source_key(change.latest)
        if key is None:
            return
        if change.new is None and self.row.copy_key(key) == key_of(change.latest):
            self.copier.forget(key)
            self.row.copy_gone(change.latest)
        self.queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        source, copy = self.row.find_source(key), self.copier.find(key)
        if copy is not None and not self.row.is_ours(copy):
            return
        if source is None and self.row.may_be_uncached(key, copy):
            source = await self._fetch(key)
        if source is None:
            await self._end(key, copy)
        elif message := self.row.find_refusal(source):
            await self._refuse(key, source, message)
            await self._retire(key, copy)
        elif not self.row.is_wanted(key, source):
            self._refused.forget(key)
            await self._retire(key, copy)
        else:
            await self._follow(key, source, copy)

    async def _follow(self, key: Key, source: Object, copy: Object | None) -> None:
        self._unused.pop(key, None)
        try:
            await self.copier.write(key, source)
            if copy is not None:
                await self.row.align(source, copy)
        except (Forbidden, Invalid) as error:
            if self.row.fails_closed:
                await self.copier.remove_outdated(key, source)
            await self._refuse(key, source, self._translate(key, error.message))
            if isinstance(error, Forbidden):
                raise  # retry: the other object may be deleted or the quota raised, and no event tells us
        else:
            self._refused.forget(key)
        await self._note_ignored(key, source)
        if copy is not None and (patch := self.row.lift(source, copy)) is not None:
            body = {"metadata": {"uid": source["metadata"]["uid"]}} | patch
            await self.row.source_api.patch(self.row.kind, key[1], key[0] or None, body, subresource="status")

    async def _end(self, key: Key, copy: Object | None) -> None:
        self._refused.forget(key)
        if copy is None or await self.row.after_end(copy):
            return
        if left := self.row.find_reprieve(copy):
            raise RetryLater(left, "its source is about to be created")
        await self._remove(key, copy)

    async def _retire(self, key: Key, copy: Object | None) -> None:
        if copy is None:
            self._unused.pop(key, None)
            return
        now = time.monotonic()
        left = self._unused.setdefault(key, now) + self.row.linger_seconds - now
        if len(self._unused) > self.row.lingering_most:
            left = 0
        left = max(left, self.row.find_reprieve(copy))
        if left > 0:
            raise RetryLater(left, "unused")
        await self._remove(key, copy)

    async def _remove(self, key: Key, copy: Object) -> None:
        if await self.copier.remove(key, copy):
            self._unused.pop(key, None)

    async def _refuse(self, key: Key, source: Object, message: str) -> None:
        """Tell the tenant why there is no copy, or not as it should be; again if the source was deleted and recreated."""
        if self.row.refused and self._refused.is_news(key, (source["metadata"]["uid"], message)):
            await self.row.context.recorder.post(source, "Warning", self.row.refused, message)

    async def _note_ignored(self, key: Key, source: Object) -> None:
        message = "; ".join(self.row.find_ignored(source))
        if not message:
            self._ignored.forget(key)
        elif self._ignored.is_news(key, (source["metadata"]["uid"], message)):
            await self.row.context.recorder.post(source, "Warning", self.row.ignored, message)

    def _translate(self, key: Key, text: str) -> str:
        """A message of the host in the words of the nested cluster. If a quota is used up, it says who can raise it."""
        target = self.row.context.target
        _, word, rest = text.partition(EXCEEDED)
        told = limits.advise(word + rest, target.quota_class) if word else text
        return messages.translate(told, {self.row.copy_key(key)[1]: key[1], target.namespace: key[0]})
