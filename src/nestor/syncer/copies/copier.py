"""Writes and deletes the copies of one kind, by what the caches do not know yet, too."""

from __future__ import annotations

import time

from nestor.api.objects import Object
from nestor.kube import Conflict, Forbidden, Invalid, RetryLater
from nestor.kube.informer import Key
from nestor.kube.pace import Buckets
from nestor.pods.translate.target import NO_KEY
from nestor.syncer import limits
from nestor.syncer.copies import fields
from nestor.syncer.copies.memory import Locks
from nestor.syncer.copies.row import Row
from nestor.syncer.copies.writer import Writer


class Copier:
    """Creates, updates and deletes the copies of one row: one at a time of each source, and none too often."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._writer = Writer(row.copy_api, row.kind, row.fields, row.is_ours)
        self._locks: Locks[Key] = Locks()
        self._pace: Buckets[Key] = Buckets(limits.COPY_WRITES)
        self._written: dict[Key, object] = {}
        """The version of each source whose copy we wrote, because the cache of copies may lag behind."""
        self._removed: dict[Key, str] = {}
        """UIDs of copies that we deleted, because the cache may still hold them."""

    def __len__(self) -> int:
        """Number of entries in memory."""
        return len(self._locks) + len(self._written) + len(self._removed)

    def find(self, key: Key) -> Object | None:
        """The copy from the cache, unless we have deleted it or it is another source's."""
        found = self._row.find_copy(key)
        if found is None or found["metadata"]["uid"] == self._removed.get(key):
            return None
        # Names hold a digest: another source's copy may have the same. Creating this one will meet it, and be refused.
        is_other = self._row.is_ours(found) and self._row.source_key(found) not in (None, key, NO_KEY)
        return None if is_other else found

    def is_there(self, key: Key) -> bool:
        """Whether there is a copy, in the cache or because we have just written it."""
        return self.find(key) is not None or key in self._written

    def forget(self, key: Key) -> None:
        """The copy is gone, and the cache knows that."""
        self._written.pop(key, None)
        self._removed.pop(key, None)

    def note_drift(self, key: Key, source: Object, copy: Object) -> None:
        """If the copy is not as we would write it, `write` does so again, although the source has not changed."""
        if not fields.is_current(copy, self._row.build(source), self._row.fields):
            self._written.pop(key, None)

    async def write(self, key: Key, source: Object) -> None:
        """Create the copy, or bring it up to date, unless that is done. Raises as `reserve` does."""
        row, version = self._row, self._row.version(source)
        async with self._locks.hold(key):
            if self._written.get(key) == version:
                return
            desired = row.build(source)
            if not row.is_ours(desired):
                raise ValueError(f"{row.kind.plural}: the row builds a copy that it would not recognize as its own")
            copy = self.find(key)
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

    async def reserve(self, key: Key, source: Object) -> Object:
        """Create the copy of a source that is about to be created, and return it. A left-over copy of a former source goes.

        Raises what the API server answers, `Forbidden` if the cluster may have no more copies, and `RetryLater`.
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

    async def remove(self, key: Key, copy: Object) -> bool:
        """Delete the copy. False if it is wanted again since that was decided, and stays."""
        async with self._locks.hold(key):
            source = self._row.find_source(key)
            if source is not None and self._row.is_wanted(key, source) and not self._row.find_refusal(source):
                return False
            await self._delete(key, copy)
        return True

    async def remove_outdated(self, key: Key, source: Object) -> None:
        """Delete the copy if it is not up to date."""
        async with self._locks.hold(key):
            copy = self.find(key)
            if copy is not None and not fields.is_current(copy, self._row.build(source), self._row.fields):
                await self._delete(key, copy)

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

    async def _create_ahead(self, source: Object, desired: Object) -> Object:
        api, kind = self._row.copy_api, self._row.kind
        try:
            return await api.create(kind, desired)
        except Invalid as error:
            return await api.create(kind, self._row.build_ahead(source, error))

    async def _update(self, source: Object, copy: Object, desired: Object) -> None:
        try:
            await self._writer.update(copy, desired)
        except Invalid as error:
            await self._writer.update(copy, self._row.build_substitute(source, error))

    async def _delete(self, key: Key, copy: Object) -> None:
        self._written.pop(key, None)
        # Set before the delete: anyone who needs the copy meanwhile recreates it instead of relying on this one.
        self._removed[key] = copy["metadata"]["uid"]
        try:
            await self._writer.remove(copy)
        except BaseException:
            self._removed.pop(key, None)
            raise
