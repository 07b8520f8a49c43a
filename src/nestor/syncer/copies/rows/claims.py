"""PersistentVolumeClaims: the host's claim is what gets a volume, and the nested one is bound to a shadow of it (`volumes`).

Nothing but the end of the nested claim deletes a host claim: neither a stricter policy nor the loss of the nested cluster's data,
after which a claim of the same name gets the volume again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nestor.api import labels
from nestor.kube import Change, NotFound, RetryLater, kinds
from nestor.kube.informer import Key, key_of
from nestor.objects import Object, is_terminating, spec_of
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, Field, value
from nestor.syncer.copies.memory import Recent
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import storage
from nestor.syncer.view.context import Context
from nestor.translate.claims import find_claims
from nestor.translate.target import nested_uid

_PATIENCE = 20
"""How often a pod looks for its claim before that counts as missing: those of ephemeral volumes come after the pod."""
_PATIENCE_SECONDS = 0.1
_MOST_WAITING = 1000


class ClaimRow(Row):
    """Claims of StorageClasses that the class allows."""

    kind = kinds.PERSISTENT_VOLUME_CLAIM
    refused = "ClaimRefused"
    fields = (
        LABELS,
        ANNOTATIONS,
        Field(("metadata", "labels", labels.NESTED_UID), is_fixed=True),
        value("spec.resources.requests.storage"),
    )

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._misses: Recent[Key, int] = Recent(_MOST_WAITING)
        self._namespaces = context.caches.nested(kinds.NAMESPACE)
        self._classes = context.caches.nested(kinds.STORAGE_CLASS)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """A claim that is being deleted gets no new copy."""
        return not is_terminating(source) or self._find_copy(source) is not None

    def find_refusal(self, source: Object) -> str | None:
        """By the policy, as long as there is no copy."""
        if self._find_copy(source) is not None:
            return None
        known = self._classes.get(spec_of(source).get("storageClassName") or "")
        is_own = known is not None and not storage.is_ours(known)
        return storage.find_refusal(source, self.context.caches.policy.volumes, is_own_class=is_own)

    def find_ignored(self, source: Object) -> str | None:
        """Fields that are newer than this version of Nestor."""
        return storage.find_ignored(source)

    def find_clash(self, key: Key) -> str:
        """A claim is filled from another one of its own cluster. In a user's namespace, others may have one of such a name."""
        source = self.find_source(key)
        wanted = storage.find_source_claim(source) if source is not None else None
        if wanted is None or self.copies.get(*reversed(self.copy_key((key[0], wanted)))) is not None:
            return ""
        return f"it is to be filled from claim '{wanted}', which has no volume of the host cluster"

    def build(self, source: Object) -> Object:
        """The host's claim."""
        return storage.build_claim(source, self.context.target, self._read_data())

    def lift(self, source: Object, copy: Object) -> Object | None:
        """Size, and how far a change of it has come."""
        return storage.lift_status(source, copy, self.context.target)

    async def settle(self, source: Object, copy: Object) -> bool:
        """The copy is that of an earlier claim: a new one gets nothing of it, unless the nested cluster has lost its data."""
        meta = copy["metadata"]
        if is_terminating(copy):
            raise RetryLater(0.5, "the volume of an earlier claim is being deleted")
        if not storage.is_of_lost_data(copy, self._read_data()):
            await self.context.host.delete(self.kind, meta["name"], meta["namespace"], uid=meta["uid"])
            raise RetryLater(0.2, "the volume of an earlier claim is being deleted")
        own = self.build(source)["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "labels": own["labels"], "annotations": own["annotations"]}}
        await self.context.host.patch(self.kind, meta["name"], meta["namespace"], patch)
        return True

    async def after_end(self, copy: Object) -> bool:
        """Keep what a nested cluster that has lost its data does not know of: only somebody who deletes a claim wants its end."""
        return storage.is_of_lost_data(copy, self._read_data())

    def _find_data(self) -> str | None:
        """Identifies the nested cluster's data. None as long as that is not known."""
        found = self._namespaces.get("kube-system")
        return str(found["metadata"]["uid"]) if found is not None else None

    def _read_data(self) -> str:
        if (found := self._find_data()) is None:
            raise RetryLater(0.5, "waiting for namespace kube-system")
        return found

    def _find_copy(self, source: Object) -> Object | None:
        """The copy that this very claim has, or may take over."""
        namespace, name = self.copy_key(key_of(source))
        found = self.copies.get(name, namespace)
        if found is None or not self.is_ours(found) or self.source_key(found) != key_of(source):
            return None
        if nested_uid(found) == source["metadata"]["uid"]:
            return found
        data = self._find_data()
        return found if data is None or storage.is_of_lost_data(found, data) else None

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the policy changes, and at those of a StorageClass that comes or goes."""

        def on_policy() -> None:
            for found in self.context.caches.nested(self.kind):
                look_at(key_of(found))

        def on_class(change: Change) -> None:
            for found in self.context.caches.nested(self.kind):
                if spec_of(found).get("storageClassName") == change.key[1]:
                    look_at(key_of(found))

        self.context.caches.on_policy(on_policy)
        self._classes.on_change(on_class)

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """The claims that the pod uses."""
        return [(pod["metadata"]["namespace"], name) for name in find_claims(pod)]

    def missing(self, key: Key) -> None:
        """Wait a little, then refuse to go on: no pod may be created before its claims."""
        misses = (self._misses.get(key) or 0) + 1
        if misses <= _PATIENCE:
            self._misses.set(key, misses)
            raise RetryLater(_PATIENCE_SECONDS, f"waiting for claim {key[1]}")
        self._misses.forget(key)
        raise NotFound(404, "NotFound", f'persistentvolumeclaim "{key[1]}" not found')

    def found(self, key: Key) -> None:
        """Reset the patience."""
        self._misses.forget(key)


ROWS = (ClaimRow,)
