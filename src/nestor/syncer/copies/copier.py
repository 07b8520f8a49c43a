"""Writes and deletes copies, only if they differ and only if they are ours. The cache of copies is told what was written."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from nestor.api.objects import Object
from nestor.kube import Api, Conflict, Forbidden, Informer, Invalid, Kind, NotFound, RetryLater
from nestor.kube.informer import Key
from nestor.kube.pace import Buckets
from nestor.syncer import limits
from nestor.syncer.copies import fields
from nestor.syncer.copies.fields import Field
from nestor.syncer.copies.row import Row

_AGAIN_SECONDS = 0.1


class Copier:
    """Creates, updates and deletes the copies of one row: one at a time of each source, and none too often."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._writer = Writer(row.copy_api, row.kind, row.fields, row.is_ours, row.copies)
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self._pace: Buckets[Key] = Buckets(limits.COPY_WRITES)
        self._removed: dict[Key, str] = {}
        """UIDs of copies that we deleted, because the cache may still hold them."""

    def find(self, key: Key) -> Object | None:
        """The copy from the cache, unless we have deleted it."""
        found = self._row.find_copy(key)
        return found if found is not None and found["metadata"]["uid"] != self._removed.get(key) else None

    def forget(self, key: Key) -> None:
        """The copy is gone, and the cache knows that."""
        self._removed.pop(key, None)

    async def write(self, key: Key, source: Object) -> None:
        """Create the copy, or bring it up to date, unless that is done. Raises as `reserve` does."""
        row = self._row
        async with self._lock(key):
            desired = row.build(source)
            if not row.is_ours(desired):
                raise ValueError(f"{row.kind.plural}: the row builds a copy that it would not recognize as its own")
            copy = self.find(key)
            if copy is not None and fields.is_current(copy, desired, row.fields):
                return
            self._check_limits(key, copy, desired)
            try:
                copy = copy or await self._create(desired)
                if copy is None:
                    return
                if not fields.needs_another(copy, desired, row.fields):
                    await self._writer.update(copy, desired)
                elif not await row.settle(source, copy):
                    self._removed[key] = copy["metadata"]["uid"]
                    await self._writer.replace(copy, desired)
            except Invalid as error:
                raise row.explain(source, error) from error

    async def reserve(self, key: Key, source: Object) -> Object:
        """Create the copy of a source that is about to be created, and return it. A left-over copy of a former source goes.

        Without its source, it stays as long as `Row.find_reprieve` says. Raises what the API server answers, `Forbidden` if the
        cluster may have no more copies, and `RetryLater`.
        """
        async with self._lock(key):
            desired = self._row.build_ahead(source)
            self._check_limits(key, None, desired)
            try:
                return await self._post_ahead(source, desired)
            except Conflict:
                there = await self._writer.find_taken(desired)
                await self._writer.remove(there)
                self._row.copy_gone(there)
                return await self._post_ahead(source, desired)

    async def remove(self, key: Key, copy: Object) -> bool:
        """Delete the copy. False if it is wanted again since that was decided, and stays."""
        async with self._lock(key):
            source = self._row.find_source(key)
            if source is not None and self._row.is_wanted(key, source) and not self._row.find_refusal(source):
                return False
            await self._delete(key, copy)
        return True

    async def remove_outdated(self, key: Key, source: Object) -> None:
        async with self._lock(key):
            copy = self.find(key)
            if copy is not None and not fields.is_current(copy, self._row.build(source), self._row.fields):
                await self._delete(key, copy)

    def _lock(self, key: Key) -> asyncio.Lock:
        """It is there for as long as somebody holds it or waits for it."""
        return self._locks.setdefault(key, asyncio.Lock())

    def _check_limits(self, key: Key, copy: Object | None, desired: Object) -> None:
        """Raises `Forbidden` if the cluster has too much of this kind, and `RetryLater` if this copy changes too often."""
        if message := self._row.find_excess(copy, desired):
            raise Forbidden(403, "Forbidden", message)
        now = time.monotonic()
        if wait := self._pace.find_wait(key, now):
            raise RetryLater(wait, "changes too often")
        self._pace.take(key, now)

    async def _create(self, desired: Object) -> Object | None:
        """Create the copy; returns the existing one if the cache does not know it yet."""
        try:
            await self._writer.post(desired)
        except Conflict:
            # For `Presence` it is enough that an object exists, whoever owns it.
            return await self._writer.find_taken(desired) if self._row.ensures == "Content" else None
        return None

    async def _post_ahead(self, source: Object, desired: Object) -> Object:
        try:
            return await self._writer.post(desired)
        except Invalid as error:
            return await self._writer.post(self._row.build_ahead(source, error))

    async def _delete(self, key: Key, copy: Object) -> None:
        # Set before the delete: anyone who needs the copy meanwhile recreates it instead of relying on this one.
        self._removed[key] = copy["metadata"]["uid"]
        try:
            await self._writer.remove(copy)
        except BaseException:
            self._removed.pop(key, None)
            raise


@dataclass(frozen=True)
class Writer:
    """Creates, changes and deletes objects of one kind; `is_ours` tells which of them belong to us.

    `cache` has what was written at once, before its watch brings it.
    """

    api: Api
    kind: Kind
    fields: Sequence[Field]
    is_ours: Callable[[Object], bool]
    cache: Informer

    async def write(self, cached: Object | None, desired: Object) -> None:
        """Create `desired`, or update the existing object. `cached` may be outdated or None even if the object exists.

        Raises `Forbidden` if someone else's object has the name, and `RetryLater` if the object changes at the same moment.
        """
        there = cached or await self.create(desired)
        if there is None:
            return
        if fields.needs_another(there, desired, self.fields):
            await self.replace(there, desired)
        else:
            await self.update(there, desired)

    async def create(self, desired: Object) -> Object | None:
        """Create `desired`. If our own object already has the name, return that; otherwise None. Raises as `write` does."""
        try:
            await self.post(desired)
        except Conflict:
            return await self.find_taken(desired)
        return None

    async def post(self, desired: Object) -> Object:
        created = await self.api.create(self.kind, desired)
        self.cache.put(created)
        return created

    async def find_taken(self, desired: Object) -> Object:
        """Our existing object with the name of `desired`. Raises `Forbidden` if it is someone else's (in a shared namespace)."""
        meta = desired["metadata"]
        there = await self.api.find(self.kind, meta["name"], meta.get("namespace"))
        if there is None:
            raise RetryLater(_AGAIN_SECONDS, f"{self.kind.name} {meta['name']} was deleted just now")
        if not self.is_ours(there):
            what = f"{self.kind.name} '{meta['name']}'"
            message = f"host {what} already exists and belongs to someone else; left untouched"
            raise Forbidden(403, "Forbidden", message)
        return there

    async def update(self, there: Object, desired: Object) -> None:
        """Patch what differs; `status` through its subresource."""
        if fields.is_current(there, desired, self.fields):
            return
        patch, meta = fields.build_patch(there, desired, self.fields), there["metadata"]
        status = patch.pop("status", None)
        try:
            written = await self.api.patch(self.kind, meta["name"], meta.get("namespace"), patch)
            if status is not None:
                body = {"metadata": {"uid": meta["uid"]}, "status": status}
                written = await self.api.patch(self.kind, meta["name"], meta.get("namespace"), body, subresource="status")
            self.cache.put(written)
        except (NotFound, Conflict, Invalid) as error:
            if isinstance(error, Invalid) and not error.is_replaced:
                raise
            raise RetryLater(_AGAIN_SECONDS, f"{self.kind.name} {meta['name']} was replaced: {error}") from error

    async def replace(self, there: Object, desired: Object) -> None:
        await self.remove(there)
        await self.create(desired)

    async def remove(self, there: Object) -> None:
        meta = there["metadata"]
        await self.api.delete(self.kind, meta["name"], meta.get("namespace"), uid=meta["uid"])
