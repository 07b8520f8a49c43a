"""Keeps the copies of one kind: what holds for every kind, once. What is special is the row's.

Level-triggered: a key is looked at as it is now, whatever changed; a look that comes late or twice does no harm.
"""

from __future__ import annotations

import asyncio
import time

from nestor.kube import Change, Conflict, Forbidden, Invalid, RetryLater, WorkQueue
from nestor.kube.informer import Key, key_of
from nestor.kube.rights import Right, right
from nestor.objects import Object
from nestor.syncer.copies import fields
from nestor.syncer.copies.memory import Locks, Told
from nestor.syncer.copies.row import Row
from nestor.syncer.copies.writer import Writer
from nestor.syncer.view.context import RETRY_LIMIT
from nestor.translate import messages


class Engine:
    """Makes, follows and removes the copies of one row."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._writer = Writer(row.copy_api, row.kind, row.fields, row.is_ours)
        self._locks: Locks[Key] = Locks()
        self._told: Told[Key] = Told()
        self._written: dict[Key, object] = {}
        """The version of each source whose copy we wrote: the copies' cache may be behind."""
        self._removed: dict[Key, str] = {}
        """UIDs of copies that we deleted: the cache may still have them."""
        self._ahead: set[Key] = set()
        """Sources that a request found: the cache may not have them yet, or never."""
        self._unused: dict[Key, float] = {}
        self.name = row.name or row.kind.plural
        self.queue: WorkQueue[Key] = WorkQueue(self._reconcile, workers=row.workers, name=self.name, max_delay=RETRY_LIMIT)
        if row.sources is not None:
            row.sources.on_change(self._on_source)
        row.copies.on_change(self._on_copy)
        row.follow(self.queue.add)

    @property
    def remembered(self) -> int:
        """How many entries are kept: one for each existing copy, and what is under way. It must not grow otherwise."""
        rest = len(self._removed) + len(self._ahead) + len(self._unused)
        return len(self._locks) + len(self._told) + len(self._written) + rest

    @property
    def host_rights(self) -> tuple[Right, ...]:
        """What the engine must be allowed to do on the host, besides filling caches."""
        verbs = ("get", "create", "patch", "delete") if self._row.direction == "Down" else ("get",)
        return (right(self._row.kind, *verbs),)

    async def ensure_needs(self, pod: Object) -> None:
        """Have the copies that this pod needs, before it is created."""
        await asyncio.gather(*(self.ensure(key) for key in self._row.find_needs(pod)))

    async def ensure(self, key: Key) -> None:
        """Have the copy, if its source exists. If it does not, the copy follows later, unless the row says otherwise."""
        if self._row.ensures == "Presence" and (self._find_copy(key) is not None or key in self._written):
            return
        source = self._row.find_source(key) or await self._fetch(key)
        if source is None:
            self._row.missing(key)
            return
        self._row.found(key)
        try:
            await self._write(key, source)
        except Exception:
            if not self._row.is_wanted(key, source):
                self._ahead.discard(key)  # nobody names it any more, and there is no copy whose news would bring us back
            raise

    async def _fetch(self, key: Key) -> Object | None:
        """The source, past the cache."""
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
        return None if found is not None and found["metadata"]["uid"] == self._removed.get(key) else found

    def _on_source(self, change: Change) -> None:
        key = change.key
        self._ahead.discard(key)
        if change.new is None:
            self._told.forget(key)
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
        """Bring the copy up to date, and the source's status."""
        self._unused.pop(key, None)
        if copy is not None and not fields.is_current(copy, self._row.build(source), self._row.fields):
            self._written.pop(key, None)
        try:
            await self._write(key, source)
        except (Forbidden, Invalid) as error:
            await self._tell(key, source, self._in_nested_words(key, error.message))
            if isinstance(error, Forbidden):
                raise  # the foreign object may go, or the quota grow, and no event tells us when
        else:
            self._told.forget(key)
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
            copy = self._find_copy(key) or await self._create(source, desired)
            if copy is not None:
                if not fields.needs_another(copy, desired, row.fields):
                    await self._writer.update(copy, desired)
                elif await row.settle(source, copy):
                    return  # what that changed brings its own event
                else:
                    self._removed[key] = copy["metadata"]["uid"]
                    await self._writer.replace(copy, desired)
            self._written[key] = version

    async def _create(self, source: Object, desired: Object) -> Object | None:
        """Create the copy; returns the one that is there already, which the cache does not know yet."""
        api, kind = self._row.copy_api, self._row.kind
        try:
            await api.create(kind, desired)
        except Conflict:
            # Whose it is does not matter as long as it exists.
            return await self._writer.find_taken(desired) if self._row.ensures == "Content" else None
        except Invalid as error:
            await api.create(kind, self._row.build_substitute(source, error))
        return None

    async def _end(self, key: Key, copy: Object | None) -> None:
        """The source is gone."""
        self._told.forget(key)
        if copy is not None and not await self._row.after_end(copy):
            await self._remove(key, copy)

    async def _retire(self, key: Key, copy: Object | None) -> None:
        """The source exists, but there should be no copy."""
        if copy is None:
            self._unused.pop(key, None)
            self._ahead.discard(key)
            return
        now = time.monotonic()
        left = self._unused.setdefault(key, now) + self._row.linger_seconds - now
        if left > 0:
            raise RetryLater(left, "unused")
        self._ahead.discard(key)
        await self._remove(key, copy)

    async def _remove(self, key: Key, copy: Object) -> None:
        async with self._locks.hold(key):
            source = self._row.find_source(key)
            if source is not None and self._row.is_wanted(key, source) and not self._row.find_refusal(source):
                return  # again, since we decided
            self._written.pop(key, None)
            # Set before it is gone: whoever needs the copy meanwhile creates it again instead of relying on this one.
            self._removed[key] = copy["metadata"]["uid"]
            try:
                await self._writer.remove(copy)
            except BaseException:
                self._removed.pop(key, None)
                raise
            self._unused.pop(key, None)

    async def _tell(self, key: Key, source: Object, message: str) -> None:
        """To the tenant, once; again when the source was replaced by another one of its name."""
        if self._row.refused and self._told.is_news(key, (source["metadata"]["uid"], message)):
            await self._row.context.recorder.post(source, "Warning", self._row.refused, message)

    def _in_nested_words(self, key: Key, text: str) -> str:
        target = self._row.context.target
        return messages.translate(text, {self._row.copy_key(key)[1]: key[1], target.namespace: key[0]})
