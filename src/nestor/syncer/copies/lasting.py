"""Rows whose copies hold data: nothing but the end of the nested object deletes a copy.

Neither a stricter policy does, nor the loss of the nested cluster's data, after which an object of the same name gets its copy
again.
"""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, is_terminating
from nestor.kube import RetryLater, kinds
from nestor.kube.informer import key_of
from nestor.pods.translate.target import nested_uid
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, Field
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import storage
from nestor.syncer.view.context import Context

OWN = (LABELS, ANNOTATIONS, Field(("metadata", "labels", labels.NESTED_UID), is_fixed=True))
"""The fields that say whose copy it is."""


class LastingRow(Row):
    """Takes a copy over for an object that comes back, and for no other."""

    holds = "volume"
    """What a copy holds, in messages."""

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._namespaces = context.caches.nested(kinds.NAMESPACE)

    async def settle(self, source: Object, copy: Object) -> bool:
        """The copy is that of an earlier object: a new one gets nothing of it, unless the nested cluster has lost its data."""
        meta, why = copy["metadata"], f"the {self.holds} of an earlier {self.kind.name} is being deleted"
        if is_terminating(copy):
            raise RetryLater(0.5, why)
        if not storage.is_of_lost_data(copy, self.read_data()):
            await self.context.host.delete(self.kind, meta["name"], meta["namespace"], uid=meta["uid"])
            raise RetryLater(0.2, why)
        own = self.build(source)["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "labels": own["labels"], "annotations": own["annotations"]}}
        await self.context.host.patch(self.kind, meta["name"], meta["namespace"], patch)
        return True

    async def after_end(self, copy: Object) -> bool:
        """Keep what a nested cluster that has lost its data does not know of: only a deletion asks for an end."""
        return storage.is_of_lost_data(copy, self.read_data())

    def find_own_copy(self, source: Object) -> Object | None:
        """The copy that this very object has, or may take over."""
        namespace, name = self.copy_key(key_of(source))
        found = self.copies.get(name, namespace)
        if found is None or not self.is_ours(found) or self.source_key(found) != key_of(source):
            return None
        if nested_uid(found) == source["metadata"]["uid"]:
            return found
        data = self._find_data()
        return found if data is None or storage.is_of_lost_data(found, data) else None

    def read_data(self) -> str:
        """Identifies the nested cluster's data. Raises `RetryLater` as long as that is not known."""
        if (found := self._find_data()) is None:
            raise RetryLater(0.5, "waiting for namespace kube-system")
        return found

    def _find_data(self) -> str | None:
        found = self._namespaces.get("kube-system")
        return str(found["metadata"]["uid"]) if found is not None else None
