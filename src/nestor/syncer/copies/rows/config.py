"""ConfigMaps and Secrets that live pods refer to. They are copied before the pods are created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import ClassVar

from nestor.api.objects import Object
from nestor.kube import RetryLater, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import config
from nestor.pods.translate.references import CONFIG_MAPS, SECRETS, find_references
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, fixed, mapping
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.view.caches import UNCACHED_TYPE
from nestor.syncer.view.context import Context

CONFIG_MAP_FIELDS = (LABELS, ANNOTATIONS, mapping("data", is_sparse=True), mapping("binaryData", is_sparse=True))
SECRET_FIELDS = (*CONFIG_MAP_FIELDS, fixed("type"))

ROOT_CA = "kube-root-ca.crt"
"""Part of every pod's token volume. The nested controller-manager creates it in each new namespace, after a while."""
_ROOT_CA_PATIENCE = 40
UNUSED_SECONDS = 5.0
"""How long a copy outlasts its last pod. Pods that run one after the other, in a namespace that has no others, would otherwise
each have a new copy of the root CA, and soon wait, since no copy may be written more often than once a second.
"""
UNUSED_MOST = 20
"""How many do so at a time, of ConfigMaps and of Secrets: those that each had a pod of its own must not fill a quota."""


class _ReferredRow(Row):
    """Objects that exist and that a live pod refers to have a copy."""

    resource: ClassVar[str]
    refused = "NotCopied"

    def is_wanted(self, key: Key, source: Object) -> bool:
        """True while a pod refers to it."""
        return self.references.is_named(self.resource, key)

    @property
    def linger_seconds(self) -> float:
        """See `UNUSED_SECONDS`."""
        return UNUSED_SECONDS

    @property
    def lingering_most(self) -> float:
        """See `UNUSED_MOST`."""
        return UNUSED_MOST

    def find_clash(self, key: Key) -> str:
        """No copy while a pod is there that would find it, although it refers to another object."""
        return self.references.find_other(self.resource, key)

    def build(self, source: Object) -> Object:
        """The copy, with the same data."""
        return config.build_config(source, self.context.target)

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when a pod starts or stops referring to an object."""
        self.references.on_change(self.resource, look_at)

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """All objects that the pod refers to."""
        return [(item.namespace, item.name) for item in find_references(pod) if item.resource == self.resource]


class ConfigMapRow(_ReferredRow):
    """ConfigMaps."""

    kind = kinds.CONFIG_MAP
    fields = CONFIG_MAP_FIELDS
    resource = CONFIG_MAPS

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._patience: Counter[Key] = Counter()

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when a pod starts or stops referring to an object; forget the patience with one that no pod waits for."""

        def on_reference(key: Key) -> None:
            if not self.references.is_named(self.resource, key):
                self._patience.pop(key, None)

        super().follow(look_at)
        self.references.on_change(self.resource, on_reference)

    def missing(self, key: Key) -> None:
        """Wait a little for the root CA, which will come. A kubelet that misses it once waits longer than this."""
        if key[1] == ROOT_CA and self._patience[key] < _ROOT_CA_PATIENCE:
            self._patience[key] += 1
            raise RetryLater(0.05, f"waiting for ConfigMap {ROOT_CA}")

    def found(self, key: Key) -> None:
        """Reset the patience."""
        self._patience.pop(key, None)


class SecretRow(_ReferredRow):
    """Secrets. A Secret's type is immutable, so a copy is replaced when the type differs."""

    kind = kinds.SECRET
    fields = SECRET_FIELDS
    resource = SECRETS

    def may_be_uncached(self, key: Key, copy: Object) -> bool:
        """One of helm's records, while a pod names it."""
        return copy.get("type") == UNCACHED_TYPE and self.references.is_named(self.resource, key)


ROWS = (ConfigMapRow, SecretRow)
