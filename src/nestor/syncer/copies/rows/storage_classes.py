"""StorageClasses of the host that the class allows, in the nested cluster under the same names."""

from __future__ import annotations

from collections.abc import Callable

from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.kube.informer import Key
from nestor.syncer.copies.fields import LABELS, annotation, fixed, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import storage


class StorageClassRow(Row):
    """A StorageClass of the tenant's own that has such a name is left alone."""

    kind = kinds.STORAGE_CLASS
    direction = "Up"
    workers = 1
    fields = (
        LABELS,
        annotation(storage.DEFAULT_CLASS),
        annotation(storage.HOST_PROVISIONER),
        fixed("provisioner"),
        fixed("reclaimPolicy"),
        fixed("volumeBindingMode"),
        value("allowVolumeExpansion"),
    )

    def is_wanted(self, key: Key, source: Object) -> bool:
        """While the class lists it. Claims that have a volume do not need it any more."""
        return key[1] in self.context.caches.policy.volumes.classes

    def build(self, source: Object) -> Object:
        """The nested StorageClass."""
        return storage.build_class(source, self.context.caches.policy.volumes)

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the policy changes."""

        def on_policy() -> None:
            for found in self.context.caches.host(self.kind):
                look_at(("", found["metadata"]["name"]))

        self.context.caches.on_policy(on_policy)


ROWS = (StorageClassRow,)
