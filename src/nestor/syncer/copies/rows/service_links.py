"""Service links: one host ConfigMap per nested namespace, with the variables that a kubelet would derive from its Services.

Pods read them when they start, so they are kept while the namespace has pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.kube import Change, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import env, service_env
from nestor.pods.translate.target import nested_key
from nestor.syncer.copies.row import Row
from nestor.syncer.copies.rows import config
from nestor.syncer.copies.rows.config import CONFIG_MAP_FIELDS

_PURPOSE = "service-links"


class ServiceLinksRow(Row):
    """The key is a nested namespace with an empty name; the source is computed from the Services there."""

    kind = kinds.CONFIG_MAP
    fields = CONFIG_MAP_FIELDS
    name = "service-links"
    workers = 2
    sources = None

    def find_source(self, key: Key) -> Object:
        """The current links, as an object. It has no nested UID, but the selector of synced objects needs some value."""
        services = self.context.caches.by_namespace(kinds.SERVICE).all(key[0])
        named = (item for item in services if (key[0], item["metadata"]["name"]) != ("default", "kubernetes"))
        return {"metadata": {"name": "", "namespace": key[0], "uid": _PURPOSE}, "data": service_env.build_links(named)}

    def copy_key(self, key: Key) -> Key:
        """One per namespace."""
        return (self.context.target.namespace, env.links_name(key[0]))

    def source_key(self, copy: Object) -> Key | None:
        """Recognized by the purpose label."""
        return (nested_key(copy)[0], "") if labels_of(copy).get(labels.PURPOSE) == _PURPOSE else None

    def is_wanted(self, key: Key, source: Object) -> bool:
        """True while the namespace has pods."""
        return bool(self.context.caches.by_namespace(kinds.POD).all(key[0]))

    @property
    def linger_seconds(self) -> float:
        """See `config.UNUSED_SECONDS`."""
        return config.UNUSED_SECONDS

    @property
    def lingering_most(self) -> float:
        """See `config.UNUSED_MOST`."""
        return config.UNUSED_MOST

    def build(self, source: Object) -> Object:
        """The ConfigMap."""
        namespace = source["metadata"]["namespace"]
        metadata = self.context.target.metadata(source, name=env.links_name(namespace))
        metadata["labels"][labels.PURPOSE] = _PURPOSE
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": source["data"]}

    def version(self, source: Object) -> Any:
        """The data itself."""
        return source["data"]

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when Services change, and when a pod is deleted, which may be the namespace's last."""

        def on_service(change: Change) -> None:
            if self.is_wanted((change.key[0], ""), change.latest):
                look_at((change.key[0], ""))

        def on_pod(change: Change) -> None:
            if change.new is None:
                look_at((change.key[0], ""))

        self.context.caches.nested(kinds.SERVICE).on_change(on_service)
        self.context.caches.nested(kinds.POD).on_change(on_pod)

    def find_needs(self, pod: Object) -> Iterable[Key]:
        """Every pod needs them, unless it sets `enableServiceLinks: false`."""
        return [(pod["metadata"]["namespace"], "")] if pod["spec"].get("enableServiceLinks", True) is not False else []


ROWS = (ServiceLinksRow,)
