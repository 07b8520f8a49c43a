"""Keeps the copies of one kind up to date. All kinds share this code; their specifics are in their rows.

Level-triggered: reconciling looks at the current state of a key, whatever changed, so late or repeated runs do no harm.
"""

from __future__ import annotations

import time

from nestor.api.objects import Object
from nestor.kube import Change, Forbidden, Invalid, RetryLater, WorkQueue
from nestor.kube.informer import Key, key_of
from nestor.kube.kinds import Right, right
from nestor.kube.tasks import each_to_its_end
from nestor.pods.translate import messages
from nestor.syncer.copies.copier import Copier
from nestor.syncer.copies.memory import Told
from nestor.syncer.copies.row import Row
from nestor.syncer.view.context import RETRY_LIMIT


class Engine:
    """Decides what becomes of the copies of one row, and sees to it."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._copier = Copier(row)
        self._reporter = Reporter(row)
        self._ahead: set[Key] = set()
        """Sources that a request found: the cache may not have them yet, or never."""
        self._unused: dict[Key, float] = {}
        self.name = row.name or row.kind.plural
        self.queue: WorkQueue[Key] = WorkQueue(
            self._reconcile, workers=row.workers, name=self.name, max_delay=RETRY_LIMIT, begin=self._await_caches
        )
        if row.sources is not None:
            row.sources.on_change(self._on_source)
        row.copies.on_change(self._on_copy)
        row.wake = self.queue.add
        if row.follows_policy:
            row.caches.on_policy(row.wake_all)
        row.follow()

    @property
    def remembered(self) -> int:
        """Number of entries in memory: one per existing copy, plus work in progress. It must not grow beyond that."""
        return len(self._copier) + len(self._reporter) + len(self._ahead) + len(self._unused)

    @property
    def is_settled(self) -> bool:
        return self._row.is_settled

    @property
    def host_rights(self) -> tuple[Right, ...]:
        """Permissions needed on the host, apart from those for the caches."""
        if self._row.direction == "Up" and self._row.sources is None:
            return ()
        verbs = ("get", "create", "patch", "delete") if self._row.direction == "Down" else ("get",)
        return (right(self._row.kind, *verbs),)

    async def _await_caches(self) -> None:
        """Those of kinds that a cluster may not have are filled after all others, or never."""
        for cache in self._row.read:
            await cache.synced.wait()

    async def ensure_needs(self, pod: Object) -> None:
        """Make sure that the copies exist that this pod needs; call it before the pod is created."""
        await each_to_its_end(*(self.ensure(key) for key in self._row.find_needs(pod)))

    async def ensure(self, key: Key) -> None:
        """Make sure that the copy exists. If the source is missing, `Row.missing` decides; by default, the copy follows later."""
        if self._row.ensures == "Presence" and self._copier.is_there(key):
            return
        source = self._row.find_source(key) or await self._fetch(key)
        if source is None:
            self._row.missing(key)
            return
        self._row.found(key)
        if message := self._row.find_refusal(source):
            raise Forbidden(403, "Forbidden", f"{self._row.kind.name} '{key[1]}': {message}")
        try:
            await self._copier.write(key, source)
        except Exception:
            if not self._row.is_wanted(key, source):
                self._ahead.discard(key)  # nobody names it any more, and there is no copy whose news would bring us back
            raise

    async def reserve(self, key: Key, source: Object) -> Object:
        """Create the copy of a source that is about to be created, and return it. A left-over copy of a former source goes.

        Without its source, it stays as long as `Row.find_reprieve` says. Raises what the API server answers, `Forbidden` if the
        cluster may have no more copies, and `RetryLater`.
        """
        return await self._copier.reserve(key, source)

    async def _fetch(self, key: Key) -> Object | None:
        """The source, read from the API server instead of the cache."""
        if self._row.sources is None:
            return None
        kind = self._row.kind
        found = await self._row.source_api.find(kind, key[1], key[0] or None)
        if found is None or self._row.find_source(key) is not None:
            self._ahead.discard(key)
        else:
            self._ahead.add(key)
        return {"apiVersion": kind.api_version, "kind": kind.name} | found if found is not None else None

    def _on_source(self, change: Change) -> None:
        key = change.key
        self._ahead.discard(key)
        if change.new is None:
            self._reporter.forget(key)
        row, source = self._row, change.latest
        if row.is_wanted(key, source) or row.find_refusal(source) or self._copier.find(key) is not None:
            self.queue.add(key)

    def _on_copy(self, change: Change) -> None:
        key = self._row.source_key(change.latest)
        if key is None:
            return
        if change.new is None and self._row.copy_key(key) == key_of(change.latest):
            self._copier.forget(key)
            self._row.copy_gone(change.latest)
        self.queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        source, copy = self._row.find_source(key), self._copier.find(key)
        if copy is not None and not self._row.is_ours(copy):
            return
        if source is None and (key in self._ahead or (copy is not None and self._row.may_be_uncached(key, copy))):
            source = await self._fetch(key)
        if source is None:
            await self._end(key, copy)
        elif message := self._row.find_refusal(source):
            await self._reporter.refuse(key, source, message)
            await self._retire(key, copy)
        elif not self._row.is_wanted(key, source):
            self._reporter.accept(key)
            await self._retire(key, copy)
        else:
            await self._follow(key, source, copy)

    async def _follow(self, key: Key, source: Object, copy: Object | None) -> None:
        """Update the copy, and the source's status."""
        self._unused.pop(key, None)
        if copy is not None:
            self._copier.note_drift(key, source, copy)
        try:
            await self._copier.write(key, source)
            if copy is not None:
                await self._row.align(source, copy)
        except (Forbidden, Invalid) as error:
            if self._row.fails_closed:
                await self._copier.remove_outdated(key, source)
            await self._reporter.refuse(key, source, self._reporter.translate(key, error.message))
            if isinstance(error, Forbidden):
                raise  # retry: the other object may be deleted or the quota raised, and no event tells us
        else:
            self._reporter.accept(key)
        await self._reporter.note_ignored(key, source, copy)
        if copy is not None and (patch := self._row.lift(source, copy)) is not None:
            body = {"metadata": {"uid": source["metadata"]["uid"]}} | patch
            await self._row.source_api.patch(self._row.kind, key[1], key[0] or None, body, subresource="status")

    async def _end(self, key: Key, copy: Object | None) -> None:
        """Handle a source that no longer exists."""
        self._reporter.accept(key)
        if copy is None or await self._row.after_end(copy):
            return
        if left := self._row.find_reprieve(copy):
            raise RetryLater(left, "its source is about to be created")
        await self._remove(key, copy)

    async def _retire(self, key: Key, copy: Object | None) -> None:
        """Handle a source that exists but should have no copy."""
        if copy is None:
            self._unused.pop(key, None)
            self._ahead.discard(key)
            return
        now = time.monotonic()
        left = self._unused.setdefault(key, now) + self._row.linger_seconds - now
        if len(self._unused) > self._row.lingering_most:
            left = 0
        left = max(left, self._row.find_reprieve(copy))
        if left > 0:
            raise RetryLater(left, "unused")
        self._ahead.discard(key)
        await self._remove(key, copy)

    async def _remove(self, key: Key, copy: Object) -> None:
        if await self._copier.remove(key, copy):
            self._unused.pop(key, None)


class Reporter:
    """Posts the events of one row: each message once, until another one follows or it does not hold any more."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._refused: Told[Key] = Told()
        self._ignored: Told[Key] = Told()

    def __len__(self) -> int:
        """Number of entries in memory."""
        return len(self._refused) + len(self._ignored)

    def forget(self, key: Key) -> None:
        """The source is gone."""
        self._refused.forget(key)
        self._ignored.forget(key)

    def accept(self, key: Key) -> None:
        """Nothing is refused any more: if it is again, that is news."""
        self._refused.forget(key)

    async def refuse(self, key: Key, source: Object, message: str) -> None:
        """Tell the tenant why there is no copy, or not as it should be; again if the source was deleted and recreated."""
        if self._row.refused and self._refused.is_news(key, (source["metadata"]["uid"], message)):
            await self._row.context.recorder.post(source, "Warning", self._row.refused, message)

    async def note_ignored(self, key: Key, source: Object, copy: Object | None) -> None:
        """Tell the tenant what the host leaves out, at the object that is in the nested cluster."""
        about, message = source if self._row.direction == "Down" else copy, self._row.find_ignored(source)
        if message is None or about is None:
            self._ignored.forget(key)
        elif self._ignored.is_news(key, (about["metadata"]["uid"], message)):
            await self._row.context.recorder.post(about, "Warning", self._row.ignored, message)

    def translate(self, key: Key, text: str) -> str:
        """A message of the host in the words of the nested cluster."""
        target = self._row.context.target
        return messages.translate(self._row.explain(text), {self._row.copy_key(key)[1]: key[1], target.namespace: key[0]})
