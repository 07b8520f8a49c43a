"""Writes copies to the other cluster, only if they differ and only if they are ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.kube import Api, Conflict, Forbidden, Invalid, Kind, NotFound, RetryLater
from nestor.pods.translate.target import NO_KEY, nested_key
from nestor.syncer.copies import fields as differences
from nestor.syncer.copies.fields import Field

_AGAIN_SECONDS = 0.1


class Writer:
    """Creates, changes and deletes objects of one kind; `is_ours` tells which of them belong to us."""

    def __init__(self, api: Api, kind: Kind, fields: Sequence[Field], is_ours: Callable[[Object], bool]) -> None:
        self._api = api
        self._kind = kind
        self._fields = fields
        self._is_ours = is_ours

    async def write(self, cached: Object | None, desired: Object) -> None:
        """Create `desired`, or update the existing object. `cached` may be outdated or None even if the object exists.

        Raises `Forbidden` if someone else's object has the name, and `RetryLater` if the object changes at the same moment.
        """
        there = cached or await self.create(desired)
        if there is None:
            return
        if differences.needs_another(there, desired, self._fields):
            await self.replace(there, desired)
        else:
            await self.update(there, desired)

    async def create(self, desired: Object) -> Object | None:
        """Create `desired`. If our own object already has the name, return that; otherwise None. Raises as `write` does."""
        try:
            await self._api.create(self._kind, desired)
        except Conflict:
            return await self.find_taken(desired)
        return None

    async def find_taken(self, desired: Object) -> Object:
        """Our existing object with the name of `desired`. Raises `Forbidden` if it is someone else's (in a shared namespace), or
        the copy of another source whose name has the same digest.
        """
        meta = desired["metadata"]
        there = await self._api.find(self._kind, meta["name"], meta.get("namespace"))
        if there is None:
            raise RetryLater(_AGAIN_SECONDS, f"{self._kind.name} {meta['name']} was deleted just now")
        if not self._is_ours(there) or nested_key(there) not in (nested_key(desired), NO_KEY):
            what = f"{self._kind.name} '{meta['name']}'"
            message = f"host {what} already exists and belongs to someone else; left untouched"
            raise Forbidden(403, "Forbidden", message)
        return there

    async def update(self, there: Object, desired: Object) -> None:
        """Patch what differs; `status` through its subresource."""
        if differences.is_current(there, desired, self._fields):
            return
        patch, meta = differences.build_patch(there, desired, self._fields), there["metadata"]
        status = patch.pop("status", None)
        try:
            await self._api.patch(self._kind, meta["name"], meta.get("namespace"), patch)
            if status is not None:
                body = {"metadata": {"uid": meta["uid"]}, "status": status}
                await self._api.patch(self._kind, meta["name"], meta.get("namespace"), body, subresource="status")
        except (NotFound, Conflict, Invalid) as error:
            if isinstance(error, Invalid) and not error.is_replaced:
                raise
            raise RetryLater(_AGAIN_SECONDS, f"{self._kind.name} {meta['name']} was replaced: {error}") from error

    async def replace(self, there: Object, desired: Object) -> None:
        """Delete the object and create a new one."""
        await self.remove(there)
        await self.create(desired)

    async def remove(self, there: Object) -> None:
        """Delete exactly this object (by UID)."""
        meta = there["metadata"]
        await self._api.delete(self._kind, meta["name"], meta.get("namespace"), uid=meta["uid"])


def is_synced_from(cluster: str, there: Object) -> bool:
    """True for a host object synced from nested cluster `cluster`; false for all others, such as those it consists of."""
    own = labels_of(there)
    return own.get(labels.CLUSTER) == cluster and labels.NESTED_UID in own
