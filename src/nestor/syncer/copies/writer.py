"""Copies in the other cluster: written where they differ, and only where they are ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nestor.api import labels
from nestor.kube import Api, Conflict, Forbidden, Invalid, Kind, NotFound, RetryLater
from nestor.objects import Object, labels_of
from nestor.syncer.copies import fields as differences
from nestor.syncer.copies.fields import Field

_AGAIN_SECONDS = 0.1


class Writer:
    """Creates, changes and deletes objects of one kind; `is_ours` tells ours from those of others."""

    def __init__(self, api: Api, kind: Kind, fields: Sequence[Field], is_ours: Callable[[Object], bool]) -> None:
        self._api = api
        self._kind = kind
        self._fields = fields
        self._is_ours = is_ours

    async def write(self, cached: Object | None, desired: Object) -> None:
        """Have `desired` there. `cached` may be behind; what it lacks is found out by the create.

        Raises `Forbidden` where somebody else's object has the name, and `RetryLater` where it changes at the same moment.
        """
        there = cached or await self.create(desired)
        if there is None:
            return
        if differences.needs_another(there, desired, self._fields):
            await self.replace(there, desired)
        else:
            await self.update(there, desired)

    async def create(self, desired: Object) -> Object | None:
        """Create it; returns the object that has the name already, if that is ours. Raises as `write` does."""
        try:
            await self._api.create(self._kind, desired)
        except Conflict:
            return await self.find_taken(desired)
        return None

    async def find_taken(self, desired: Object) -> Object:
        """The object that a create met. A foreign one is left alone: somebody else's may have the name, in a shared namespace."""
        meta = desired["metadata"]
        there = await self._api.find(self._kind, meta["name"], meta.get("namespace"))
        if there is None:
            raise RetryLater(_AGAIN_SECONDS, f"{self._kind.name} {meta['name']} was deleted just now")
        if not self._is_ours(there):
            what = f"{self._kind.name} '{meta['name']}'"
            message = f"host {what} already exists and belongs to someone else; left untouched"
            raise Forbidden(403, "Forbidden", message)
        return there

    async def update(self, there: Object, desired: Object) -> None:
        """Patch what differs; what is under `status` by its subresource."""
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
        """Delete it and create another one."""
        await self.remove(there)
        await self.create(desired)

    async def remove(self, there: Object) -> None:
        """Delete this very object."""
        meta = there["metadata"]
        await self._api.delete(self._kind, meta["name"], meta.get("namespace"), uid=meta["uid"])


def is_synced_from(cluster: str, there: Object) -> bool:
    """True for a host object that was synced from that nested cluster: not another's, a user's, or the cluster's own."""
    own = labels_of(there)
    return own.get(labels.CLUSTER) == cluster and labels.NESTED_UID in own
