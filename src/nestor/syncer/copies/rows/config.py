"""ConfigMaps and Secrets that live pods refer to, and the service links of each namespace. They are there before the pods are."""

from collections.abc import Iterable

from nestor.api import labels
from nestor.api.contracts.cluster import ROOT_CA
from nestor.api.objects import Object, labels_of
from nestor.kube import Change, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import config, env
from nestor.pods.translate.config import find_references
from nestor.pods.translate.target import nested_key
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, exact, fixed
from nestor.syncer.copies.row import Row

CONFIG_MAP_FIELDS = (LABELS, ANNOTATIONS, exact("data"), exact("binaryData"))
SECRET_FIELDS = (*CONFIG_MAP_FIELDS, fixed("type"))

_LINKS = "service-links"


class PodsRow(Row):
    """What is there because of pods."""

    linger_seconds = 5.0
    """How long a copy outlasts its last pod. Pods that run one after the other, in a namespace that has no others, would
    otherwise each have a new copy of the root CA, and soon wait, since no copy may be written more often than once a second.
    """
    lingering_most = 20
    """Of each kind: those that each had a pod of its own must not fill a quota."""


class _ReferredRow(PodsRow):
    """Objects that exist and that a live pod refers to have a copy."""

    refused = "NotCopied"

    def is_wanted(self, key: Key, source: Object) -> bool:
        return self.references.is_named(self.kind.plural, key)

    def build(self, source: Object) -> Object:
        return config.build_config(source, self.context.target)

    def set_up(self) -> None:
        self.references.on_change(self.kind.plural, lambda key: self.wake(key))  # noqa: PLW0108 - the engine sets it later

    def find_needs(self, pod: Object) -> Iterable[Key]:
        return [(item.namespace, item.name) for item in find_references(pod) if item.resource == self.kind.plural]


class ConfigMapRow(_ReferredRow):
    kind = kinds.CONFIG_MAP
    fields = CONFIG_MAP_FIELDS

    def missing(self, key: Key) -> None:
        """Wait a little for the root CA, which will come. A kubelet that misses it once waits longer than this."""
        if key[1] == ROOT_CA:
            self.patience.wait(key, f"ConfigMap {ROOT_CA}")


class SecretRow(_ReferredRow):
    """A Secret's type is immutable, so a copy is replaced when the type differs."""

    kind = kinds.SECRET
    fields = SECRET_FIELDS


class ServiceLinksRow(PodsRow):
    """One host ConfigMap per nested namespace, with the variables that a kubelet would derive from its Services. Pods read them
    when they start.

    The key is a nested namespace with an empty name; the source is computed from the Services there.
    """

    kind = kinds.CONFIG_MAP
    fields = CONFIG_MAP_FIELDS
    name = "service-links"
    is_computed = True

    def find_source(self, key: Key) -> Object:
        """The current links, as an object. It has no nested UID, but the selector of synced objects needs some value."""
        services = self.caches.by_namespace(kinds.SERVICE).all(key[0])
        named = (item for item in services if (key[0], item["metadata"]["name"]) != ("default", "kubernetes"))
        return {"metadata": {"name": "", "namespace": key[0], "uid": _LINKS}, "data": env.build_links(named)}

    def copy_key(self, key: Key) -> Key:
        return (self.context.target.namespace, env.links_name(key[0]))

    def source_key(self, copy: Object) -> Key | None:
        return (nested_key(copy)[0], "") if labels_of(copy).get(labels.PURPOSE) == _LINKS else None

    def is_wanted(self, key: Key, source: Object) -> bool:
        """While the namespace has pods."""
        return bool(self.caches.by_namespace(kinds.POD).all(key[0]))

    def build(self, source: Object) -> Object:
        namespace = source["metadata"]["namespace"]
        metadata = self.context.target.metadata(source, name=env.links_name(namespace))
        metadata["labels"][labels.PURPOSE] = _LINKS
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": source["data"]}

    def set_up(self) -> None:
        self.caches.nested(kinds.SERVICE).on_change(self._on_service)
        self.caches.nested(kinds.POD).on_change(self._on_pod)

    def _on_service(self, change: Change) -> None:
        key = (change.key[0], "")
        if self.is_wanted(key, change.latest):
            self.wake(key)

    def _on_pod(self, change: Change) -> None:
        """One that goes may be the namespace's last."""
        if change.new is None:
            self.wake((change.key[0], ""))

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """Every pod needs them, unless it sets `enableServiceLinks: false`."""
        return [(pod["metadata"]["namespace"], "")] if pod["spec"].get("enableServiceLinks", True) is not False else []


ROWS = (ConfigMapRow, SecretRow, ServiceLinksRow)
