"""Access from outside: one NetworkPolicy on the host per Service with node ports or a load balancer.

Nestor's own policies let nobody in from outside the cluster. This one lets traffic in to the pods of the Service, at its ports:
as everywhere in Kubernetes, from all addresses, since most of such traffic comes with the address of a node.
"""

from __future__ import annotations

from collections.abc import Callable

from nestor.api import labels
from nestor.kube import Change, kinds
from nestor.kube.informer import Key, key_of
from nestor.objects import Object, labels_of, spec_of
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, mapping, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import service as translate
from nestor.translate.target import nested_key

_PURPOSE = "service-access"


class ServiceAccessRow(Row):
    """The key is a Service's; the source is the Service, if it is reached from outside."""

    kind = kinds.NETWORK_POLICY
    name = "service-access"
    fields = (
        LABELS,
        ANNOTATIONS,
        mapping("spec.podSelector.matchLabels"),
        value("spec.podSelector.matchExpressions"),
        value("spec.policyTypes"),
        value("spec.ingress"),
    )
    workers = 2
    sources = None

    def find_source(self, key: Key) -> Object | None:
        """The Service. One without a selector has no pods that a policy could select."""
        service = self.context.caches.nested(kinds.SERVICE).get(key[1], key[0])
        return service if service is not None and self._is_outward(service) else None

    def _is_outward(self, service: Object) -> bool:
        allowed = self.context.caches.policy.allowed_services
        return bool(spec_of(service).get("selector")) and translate.find_type(service, allowed) != "ClusterIP"

    def copy_key(self, key: Key) -> Key:
        """Named after the host Service."""
        namespace, name = super().copy_key(key)
        return namespace, f"{name}-access"

    def source_key(self, copy: Object) -> Key | None:
        """Recognized by the purpose label."""
        return nested_key(copy) if labels_of(copy).get(labels.PURPOSE) == _PURPOSE else None

    def build(self, source: Object) -> Object:
        """The NetworkPolicy."""
        target, spec = self.context.target, source["spec"]
        metadata = target.metadata(source, name=self.copy_key(key_of(source))[1])
        metadata["labels"][labels.PURPOSE] = _PURPOSE
        return {
            "apiVersion": kinds.NETWORK_POLICY.api_version,
            "kind": kinds.NETWORK_POLICY.name,
            "metadata": metadata,
            "spec": {
                "podSelector": {
                    "matchLabels": translate.build_selector(source, target),
                    # Pods that a policy of the nested cluster isolates: that policy says who gets in.
                    "matchExpressions": [{"key": labels.ISOLATED_INGRESS, "operator": "DoesNotExist"}],
                },
                "policyTypes": ["Ingress"],
                "ingress": [{"ports": [_open(port) for port in spec.get("ports") or ()]}],
            },
        }

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when a Service changes, or the class."""
        services = self.context.caches.nested(kinds.SERVICE)

        def on_service(change: Change) -> None:
            if any(spec_of(item).get("type") in translate.OUTWARD for item in (change.old, change.new)):
                look_at(change.key)

        def on_policy() -> None:
            for found in services.store.values():
                look_at(key_of(found))

        services.on_change(on_service)
        self.context.caches.on_policy(on_policy)


def _open(port: Object) -> Object:
    return {"protocol": port.get("protocol", "TCP"), "port": port.get("targetPort") or port["port"]}


ROWS = (ServiceAccessRow,)
