"""Keeps the copies of one kind up to date. All kinds share this code; their specifics are in their rows.

Level-triggered: reconciling looks at the current state of a key, whatever changed, so late or repeated runs do no harm.
"""

from __future__ import annotations

import asyncio
import time

from nestor.kube import Change, Conflict, Forbidden, Invalid, RetryLater, WorkQueue
from nestor.kube.informer import Key, key_of
from nestor.kube.pace import Buckets
from nestor.kube.rights import Right, right
from nestor.objects import Object
from nestor.syncer import limits
from nestor.syncer.copies import fields
from nestor.syncer.copies.memory import Locks, Told
from nestor.syncer.copies.row import Row
from nestor.syncer.copies.writer import Writer
from nestor.syncer.view.context import RETRY_LIMIT
from nestor.translate import messages
from nestor.translate.target import NO_KEY


class Engine:
    """Creates, updates and deletes the copies of one row."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._writer = Writer(row.copy_api, row.kind, row.fields, row.is_ours)
        self._locks: Locks[Key] = Locks()
        self._pace: Buckets[Key] = Buckets(limits.COPY_WRITES)
        self._told: Told[Key] = Told()
        self._noticed: Told[Key] = Told()
        self._written: dict[Key, object] = {}
        """The version of each source whose copy we wrote, because the cache of copies may lag behind."""
        self._removed: dict[Key, str] = {}
        """UIDs of copies that we deleted, because the cache may still hold them."""
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
        row.follow(self.queue.add)

    @property
    def remembered(self) -> int:
        """Number of entries in memory: one per existing copy, plus work in progress. It must not grow beyond that."""
        rest = len(self._removed) + len(self._ahead) + len(self._unused)
        return len(self._locks) + len(self._told) + len(self._noticed) + len(self._written) + rest

    @property
    def replaced(self) -> int:
        """How many sources had to be deleted and made again."""
        return self._row.replaced

    @property
    def is_settled(self) -> bool:
        """See `Row.is_settled`."""
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
        await asyncio.gather(*(self.ensure(key) for key in self._row.find_needs(pod)))

    async def ensure(self, key: Key) -> None:
        """Make sure that the copy exists. If the source is missing, `Row.missing` decides; by default, the copy follows later."""
        if self._row.ensures == "Presence" and (self._find_copy(key) is not None or key in self._written):
            return
        source = self._row.find_source(key) or await self._fetch(key)
        if source is None:
            self._row.missing(key)
            return
        self._row.found(key)
        if message := self._row.find_refusal(source):
            raise Forbidden(403, "Forbidden", f"{self._row.kind.name} '{key[1]}': {message}")
        try:
            await self._write(key, source)
        except Exception:
            if not self._row.is_wanted(key, source):
                self._ahead.discard(key)  # nobody names it any more, and there is no copy whose news would bring us back
            raise

    async def reserve(self, key: Key, source: Object) -> Object:
        """Create the copy of a source that is about to be created, and return it. A left-over copy of a former source goes.

        Without its source, it stays as long as `Row.find_reprieve` says. Raises what the API server answers, `Forbidden` if the
        cluster may have no more copies, and `RetryLater`.
        """
        async with self._locks.hold(key):
            desired = self._row.build_ahead(source)
            self._check_limits(key, None, desired)
            try:
                return await self._create_ahead(source, desired)
            except Conflict:
                there = await self._writer.find_taken(desired)
                await self._writer.remove(there)
                self._row.copy_gone(there)
                return await self._create_ahead(source, desired)

    async def _create_ahead(self, source: Object, desired: Object) -> Object:
        api, kind = self._row.copy_api, self._row.kind
        try:
            return await api.create(kind, desired)
        except Invalid as error:
            return await api.create(kind, self._row.build_ahead(source, error))

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

    def _find_copy(self, key: Key) -> Object | None:
        namespace, name = self._row.copy_key(key)
        found = self._row.copies.get(name, namespace)
        if found is None or found["metadata"]["uid"] == self._removed.get(key):
            return None
        # Names hold a digest: another source's copy may have the same. Creating this one will meet it, and be refused.
        is_other = self._row.is_ours(found) and self._row.source_key(found) not in (None, key, NO_KEY)
        return None if is_other else found

    def _on_source(self, change: Change) -> None:
        key = change.key
        self._ahead.discard(key)
        if change.new is None:
            self._told.forget(key)
            self._noticed.forget(key)
        row, source = self._row, change.latest
        if row.is_wanted(key, source) or row.find_refusal(source) or self._find_copy(key) is not None:
            self.queue.add(key)

    def _on_copy(self, change: Change) -> None:
        key = self._row.source_key(change.latest)
        if key is None:
            return
        if change.new is None and self._row.copy_key(key) == key_of(change.latest):
            self._written.pop(key, None)
            self._removed.pop(key, None)
            self._row.copy_gone(change.latest)
        self.queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        source, copy = self._row.find_source(key), self._find_copy(key)
        if copy is not None and not self._row.is_ours(copy):
            return
        if source is None and (key in self._ahead or (copy is not None and self._row.may_be_uncached(key, copy))):
            source = await self._fetch(key)
        if source is None:
            await self._end(key, copy)
        elif message := self._row.find_refusal(source):
            await self._tell(key, source, message)
            await self._retire(key, copy)
        elif not self._row.is_wanted(key, source):
            self._told.forget(key)
            await self._retire(key, copy)
        else:
            await self._follow(key, source, copy)

    async def _follow(self, key: Key, source: Object, copy: Object | None) -> None:
        """Update the copy, and the source's status."""
        self._unused.pop(key, None)
        if copy is not None and not fields.is_current(copy, self._row.build(source), self._row.fields):
            self._written.pop(key, None)
        try:
            await self._write(key, source)
            if copy is not None:
                await self._row.align(source, copy)
        except (Forbidden, Invalid) as error:
            if self._row.fails_closed:
                await self._remove_outdated(key, source)
            await self._tell(key, source, self._in_nested_words(key, error.message))
            if isinstance(error, Forbidden):
                raise  # retry: the other object may be deleted or the quota raised, and no event tells us
        else:
            self._told.forget(key)
        await self._notice(key, source, copy)
        if copy is not None and (patch := self._row.lift(source, copy)) is not None:
            body = {"metadata": {"uid": source["metadata"]["uid"]}} | patch
            await self._row.source_api.patch(self._row.kind, key[1], key[0] or None, body, subresource="status")

    async def _write(self, key: Key, source: Object) -> None:
        row, version = self._row, self._row.version(source)
        async with self._locks.hold(key):
            if self._written.get(key) == version:
                return
            desired = row.build(source)
            if not row.is_ours(desired):
                raise ValueError(f"{row.kind.plural}: the row builds a copy that it would not recognize as its own")
            copy = self._find_copy(key)
            self._check_limits(key, copy, desired)
            # A copy that is there stays up to date: what has its name without being its source got no pod.
            if copy is None and (message := row.find_clash(key)):
                raise Forbidden(403, "Forbidden", message)
            copy = copy or await self._create(source, desired)
            if copy is not None:
                if not fields.needs_another(copy, desired, row.fields):
                    await self._update(source, copy, desired)
                elif await row.settle(source, copy):
                    return  # the change triggers its own event
                else:
                    self._removed[key] = copy["metadata"]["uid"]
                    await self._writer.replace(copy, desired)
            self._written[key] = version

    def _check_limits(self, key: Key, copy: Object | None, desired: Object) -> None:
        """Raises `Forbidden` if the cluster has too much of this kind, and `RetryLater` if this copy changes too often."""
        if copy is not None and fields.is_current(copy, desired, self._row.fields):
            return
        if message := self._row.find_excess(copy, desired):
            raise Forbidden(403, "Forbidden", message)
        now = time.monotonic()
        if wait := self._pace.find_wait(key, now):
            raise RetryLater(wait, "changes too often")
        self._pace.take(key, now)

    async def _create(self, source: Object, desired: Object) -> Object | None:
        """Create the copy; returns the existing one if the cache does not know it yet."""
        api, kind = self._row.copy_api, self._row.kind
        try:
            await api.create(kind, desired)
        except Conflict:
            # For `Presence` it is enough that an object exists, whoever owns it.
            return await self._writer.find_taken(desired) if self._row.ensures == "Content" else None
        except Invalid as error:
            await api.create(kind, self._row.build_substitute(source, error))
        return None

    async def _update(self, source: Object, copy: Object, desired: Object) -> None:
        try:
            await self._writer.update(copy, desired)
        except Invalid as error:
            await self._writer.update(copy, self._row.build_substitute(source, error))

    async def _end(self, key: Key, copy: Object | None) -> None:
        """Handle a source that no longer exists."""
        self._told.forget(key)
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
        left = max(left, self._row.find_reprieve(copy))
        if left > 0:
            raise RetryLater(left, "unused")
        self._ahead.discard(key)
        await self._remove(key, copy)

    async def _remove(self, key: Key, copy: Object) -> None:
        async with self._locks.hold(key):
            source = self._row.find_source(key)
            if source is not None and self._row.is_wanted(key, source) and not self._row.find_refusal(source):
                return  # wanted again since we decided
            await self._delete(key, copy)

    async def _remove_outdated(self, key: Key, source: Object) -> None:
        async with self._locks.hold(key):
            copy = self._find_copy(key)
            if copy is not None and not fields.is_current(copy, self._row.build(source), self._row.fields):
                await self._delete(key, copy)

    async def _delete(self, key: Key, copy: Object) -> None:
        self._written.pop(key, None)
        # Set before the delete: anyone who needs the copy meanwhile recreates it instead of relying on this one.
        self._removed[key] = copy["metadata"]["uid"]
        try:
            await self._writer.remove(copy)
        except BaseException:
            self._removed.pop(key, None)
            raise
        self._unused.pop(key, None)

    async def _tell(self, key: Key, source: Object, message: str) -> None:
        """Tell the tenant once, by an event; again if the source was deleted and recreated."""
        if self._row.refused and self._told.is_news(key, (source["metadata"]["uid"], message)):
            await self._row.context.recorder.post(source, "Warning", self._row.refused, message)

    async def _notice(self, key: Key, source: Object, copy: Object | None) -> None:
        """Tell the tenant once what the host leaves out, at the object that is in the nested cluster."""
        about, message = source if self._row.direction == "Down" else copy, self._row.find_ignored(source)
        if message is None or about is None:
            self._noticed.forget(key)
        elif self._noticed.is_news(key, (about["metadata"]["uid"], message)):
            await self._row.context.recorder.post(about, "Warning", self._row.ignored, message)

    def _in_nested_words(self, key: Key, text: str) -> str:
        target = self._row.context.target
        return messages.translate(self._row.explain(text), {self._row.copy_key(key)[1]: key[1], target.namespace: key[0]})
