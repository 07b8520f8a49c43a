"""Access from outside: one NetworkPolicy on the host per Service with node ports or a load balancer.

Nestor's own policies let nobody in from outside the cluster. This one lets traffic in to the pods of the Service, at its ports:
as everywhere in Kubernetes, from all addresses, since most of such traffic comes with the address of a node. Nested policies that
isolate the Service's pods say from where, and at which of its ports.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from nestor.api import labels
from nestor.kube import Change, kinds
from nestor.kube.informer import Key, key_of
from nestor.objects import Object, labels_of, spec_of
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, exact, mapping, value
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import access
from nestor.syncer.translate import service as translate
from nestor.syncer.view.context import Context
from nestor.translate.target import nested_key

_PURPOSE = "service-access"


class ServiceAccessRow(Row):
    """The key is a Service's; the source is the Service, if it is reached from outside."""

    kind = kinds.NETWORK_POLICY
    name = "service-access"
    refused = "NotCarried"
    fails_closed = True
    fields = (
        LABELS,
        ANNOTATIONS,
        mapping("spec.podSelector.matchLabels"),
        exact("spec.podSelector.matchExpressions"),
        value("spec.policyTypes"),
        exact("spec.ingress"),
    )
    workers = 2
    sources = None

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._services = context.caches.by_namespace(kinds.SERVICE)
        self._policies = context.caches.by_namespace(kinds.NETWORK_POLICY)

    def find_source(self, key: Key) -> Object | None:
        """The Service. One without a selector has no pods that a policy could select."""
        service = self.context.caches.nested(kinds.SERVICE).get(key[1], key[0])
        if service is None or not self._is_outward(service):
            return None
        return service if access.build_rules(service, self._list_covering(service)) else None

    def _is_outward(self, service: Object) -> bool:
        allowed = self.context.caches.policy.allowed_services
        is_synced = bool(spec_of(service).get("selector")) and translate.decide_fate(service) == "Synced"
        return is_synced and translate.find_type(service, allowed) != "ClusterIP"

    def _list_covering(self, service: Object) -> list[Object]:
        return access.list_covering(service, self._policies.all(service["metadata"]["namespace"]))

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """As for the copies of nested policies, with which they are counted."""
        surplus = limits.find_surplus_of_policies(len(self.copies.store)) if copy is None else None
        surplus = surplus or limits.find_excess_of_object(self.kind.name, len(json.dumps(desired)))
        return surplus or super().find_excess(copy, desired)

    def copy_key(self, key: Key) -> Key:
        """Named after the host Service."""
        namespace, name = super().copy_key(key)
        return namespace, f"{name}-access"

    def source_key(self, copy: Object) -> Key | None:
        """Recognized by the purpose label."""
        return nested_key(copy) if labels_of(copy).get(labels.PURPOSE) == _PURPOSE else None

    def build(self, source: Object) -> Object:
        """The NetworkPolicy."""
        target, covering = self.context.target, self._list_covering(source)
        # Of policies that isolate some of the pods only, these are left out: their ports cannot be told from the others'.
        others = [{"key": labels.ISOLATED_INGRESS, "operator": "DoesNotExist"}]
        metadata = target.metadata(source, name=self.copy_key(key_of(source))[1])
        metadata["labels"][labels.PURPOSE] = _PURPOSE
        return {
            "apiVersion": kinds.NETWORK_POLICY.api_version,
            "kind": kinds.NETWORK_POLICY.name,
            "metadata": metadata,
            "spec": {
                "podSelector": {"matchLabels": translate.build_selector(source, target)}
                | ({} if covering else {"matchExpressions": others}),
                "policyTypes": ["Ingress"],
                "ingress": access.build_rules(source, covering),
            },
        }

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when a Service changes, a policy of its namespace, or the class."""
        services = self.context.caches.nested(kinds.SERVICE)

        def on_service(change: Change) -> None:
            if any(spec_of(item).get("type") in translate.OUTWARD for item in (change.old, change.new)):
                look_at(change.key)

        def on_policy() -> None:
            for found in services.store.values():
                look_at(key_of(found))

        def on_isolation(change: Change) -> None:
            for found in self._services.all(change.key[0]):
                if spec_of(found).get("type") in translate.OUTWARD:
                    look_at(key_of(found))

        services.on_change(on_service)
        self.context.caches.nested(kinds.NETWORK_POLICY).on_change(on_isolation)
        self.context.caches.on_policy(on_policy)


ROWS = (ServiceAccessRow,)
