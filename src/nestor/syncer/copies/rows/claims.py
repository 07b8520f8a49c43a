"""PersistentVolumeClaims: the host's claim is what gets a volume, and the nested one is bound to a shadow of it (`volumes`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nestor.api import names
from nestor.api.objects import Object, is_terminating, spec_of
from nestor.kube import Change, NotFound, RetryLater, kinds
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.claims import find_claims
from nestor.pods.translate.target import nested_key
from nestor.syncer.copies.fields import value
from nestor.syncer.copies.lasting import OWN, LastingRow
from nestor.syncer.copies.memory import Recent
from nestor.syncer.copies.references import References
from nestor.syncer.translate import snapshots, storage
from nestor.syncer.view.context import Context

_PATIENCE = 20
"""How often a pod looks for its claim before that counts as missing: those of ephemeral volumes come after the pod."""
_PATIENCE_SECONDS = 0.1
_MOST_WAITING = 1000


class ClaimRow(LastingRow):
    """Claims of StorageClasses that the class allows."""

    kind = kinds.PERSISTENT_VOLUME_CLAIM
    refused = "ClaimRefused"
    fields = (*OWN, value("spec.resources.requests.storage"))

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._misses: Recent[Key, int] = Recent(_MOST_WAITING)
        self._snapshots = context.caches.host(kinds.VOLUME_SNAPSHOT)
        self._classes = context.caches.nested(kinds.STORAGE_CLASS)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """A claim that is being deleted gets no new copy."""
        return not is_terminating(source) or self.find_own_copy(source) is not None

    def find_refusal(self, source: Object) -> str | None:
        """By the policy, as long as there is no copy."""
        if self.find_own_copy(source) is not None:
            return None
        known = self._classes.get(spec_of(source).get("storageClassName") or "")
        is_own = known is not None and not storage.is_ours(known)
        message = storage.find_refusal(source, self.context.caches.policy.volumes, is_own_class=is_own)
        return message or snapshots.find_refusal_of_source(source, self._find_snapshot(source))

    def _find_snapshot(self, source: Object) -> Object | None:
        """The host's VolumeSnapshot that the claim is to be filled from."""
        name, target = snapshots.find_source_name(source), self.context.target
        return self._snapshots.get(names.host_name(name, source["metadata"]["namespace"]), target.namespace) if name else None

    def find_ignored(self, source: Object) -> str | None:
        """Fields that are newer than this version of Nestor."""
        return storage.find_ignored(source)

    def find_clash(self, key: Key) -> str:
        """A claim is filled from another one of its own cluster."""
        source = self.find_source(key)
        wanted = storage.find_source_claim(source) if source is not None else None
        if wanted is None or self.copies.get(*reversed(self.copy_key((key[0], wanted)))) is not None:
            return ""
        return f"it is to be filled from claim '{wanted}', which has no volume of the host cluster"

    def build(self, source: Object) -> Object:
        """The host's claim."""
        return storage.build_claim(source, self.context.target, self.read_data())

    def lift(self, source: Object, copy: Object) -> Object | None:
        """Size, and how far a change of it has come."""
        return storage.lift_status(source, copy, self.context.target)

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the policy changes, and at those of a StorageClass that comes or goes."""

        def on_policy() -> None:
            for found in self.context.caches.nested(self.kind):
                look_at(key_of(found))

        def on_class(change: Change) -> None:
            for found in self.context.caches.nested(self.kind):
                if spec_of(found).get("storageClassName") == change.key[1]:
                    look_at(key_of(found))

        def on_snapshot(change: Change) -> None:
            namespace, name = nested_key(change.latest)
            for found in self.context.caches.by_namespace(self.kind).all(namespace):
                if snapshots.find_source_name(found) == name:
                    look_at(key_of(found))

        self.context.caches.on_policy(on_policy)
        self._classes.on_change(on_class)
        self._snapshots.on_change(on_snapshot)

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
