"""Two NetworkPolicies on the host for each Service with node ports or a load balancer.

Nestor's own policies let nobody in from outside the cluster. The first one lets traffic in to the pods of the Service, at its
ports: as everywhere in Kubernetes, from all addresses, since most of such traffic comes with the address of a node. Nested
policies that isolate the Service's pods say from where, and at which of its ports.

Nestor's own policies also let no pod connect to a node. The second one lets the cluster's pods connect to the nodes that it shows
them, at the Service's node ports and no others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import ClassVar

from nestor.api import labels
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import Change, kinds
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.target import nested_key
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, exact, mapping, value
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import access
from nestor.syncer.translate import service as translate
from nestor.syncer.view.context import Context

_POLICY = {"apiVersion": kinds.NETWORK_POLICY.api_version, "kind": kinds.NETWORK_POLICY.name}


class _OutwardRow(Row):
    """The key is a Service's; the source is the Service, if it is reached from outside."""

    kind = kinds.NETWORK_POLICY
    refused = "NotCarried"
    fails_closed = True
    fields = (
        LABELS,
        ANNOTATIONS,
        mapping("spec.podSelector.matchLabels"),
        exact("spec.podSelector.matchExpressions"),
        value("spec.policyTypes"),
        exact("spec.ingress"),
        exact("spec.egress"),
    )
    workers = 2
    sources = None
    suffix: ClassVar[str]
    """Of the policy's name, which begins as the host Service's."""

    def find_source(self, key: Key) -> Object | None:
        """The Service, if there is something to open for it. One without a selector has no pods that a policy could select."""
        service = self.context.caches.nested(kinds.SERVICE).get(key[1], key[0])
        if service is None or not self._is_outward(service):
            return None
        return service if self.has_rules(service) else None

    def has_rules(self, service: Object) -> bool:
        """Whether there is something to open."""
        raise NotImplementedError

    def _is_outward(self, service: Object) -> bool:
        allowed = self.context.caches.policy.allowed_services
        is_synced = bool(spec_of(service).get("selector")) and translate.decide_fate(service) == "Synced"
        return is_synced and translate.find_type(service, allowed) != "ClusterIP"

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """As for the copies of nested policies, with which they are counted."""
        surplus = limits.find_surplus_of_policies(len(self.copies.store)) if copy is None else None
        surplus = surplus or limits.find_excess_of_object(self.kind.name, len(json.dumps(desired)))
        return surplus or super().find_excess(copy, desired)

    def copy_key(self, key: Key) -> Key:
        """Named after the host Service."""
        namespace, name = super().copy_key(key)
        return namespace, f"{name}-{self.suffix}"

    def source_key(self, copy: Object) -> Key | None:
        """Recognized by the purpose label."""
        return nested_key(copy) if labels_of(copy).get(labels.PURPOSE) == self.name else None

    def build_metadata(self, source: Object) -> Object:
        """The policy's, with the purpose label."""
        metadata = self.context.target.metadata(source, name=self.copy_key(key_of(source))[1])
        metadata["labels"][labels.PURPOSE] = self.name
        return metadata

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


def _look_at_outward(services: Iterable[Object], look_at: Callable[[Key], None]) -> None:
    for found in services:
        if spec_of(found).get("type") in translate.OUTWARD:
            look_at(key_of(found))


class ServiceAccessRow(_OutwardRow):
    """Lets everybody in to the Service's pods."""

    name, suffix = "service-access", "access"

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._services = context.caches.by_namespace(kinds.SERVICE)
        self._policies = context.caches.by_namespace(kinds.NETWORK_POLICY)

    def has_rules(self, service: Object) -> bool:
        """Whether nested policies let anybody in."""
        return bool(access.build_rules(service, self._list_covering(service)))

    def _list_covering(self, service: Object) -> list[Object]:
        return access.list_covering(service, self._policies.all(service["metadata"]["namespace"]))

    def build(self, source: Object) -> Object:
        """The NetworkPolicy."""
        target, covering = self.context.target, self._list_covering(source)
        # Of policies that isolate some of the pods only, these are left out: their ports cannot be told from the others'.
        others = [{"key": labels.ISOLATED_INGRESS, "operator": "DoesNotExist"}]
        spec = {
            "podSelector": {"matchLabels": translate.build_selector(source, target)}
            | ({} if covering else {"matchExpressions": others}),
            "policyTypes": ["Ingress"],
            "ingress": access.build_rules(source, covering),
        }
        return _POLICY | {"metadata": self.build_metadata(source), "spec": spec}

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Also when a policy of its namespace changes."""
        super().follow(look_at)

        def on_isolation(change: Change) -> None:
            _look_at_outward(self._services.all(change.key[0]), look_at)

        self.context.caches.nested(kinds.NETWORK_POLICY).on_change(on_isolation)


class NodePortsRow(_OutwardRow):
    """Lets the cluster's pods out to the Service's node ports."""

    name, suffix = "node-ports", "nodes"

    def has_rules(self, service: Object) -> bool:
        """Whether there are node ports, and nodes."""
        return bool(self._build_rules(service))

    def _build_rules(self, service: Object) -> list[Object]:
        namespace, name = Row.copy_key(self, key_of(service))
        host = self.context.caches.host(kinds.SERVICE).get(name, namespace)
        return access.build_node_rules(host, self.context.caches.host_nodes)

    def build(self, source: Object) -> Object:
        """The NetworkPolicy. Pods that nested policies isolate are let out by these alone."""
        pods = self.context.target.scope(None) | {labels.COMPONENT: labels.COMPONENT_APP}
        isolated = [{"key": labels.ISOLATED_EGRESS, "operator": "DoesNotExist"}]
        spec = {
            "podSelector": {"matchLabels": pods, "matchExpressions": isolated},
            "policyTypes": ["Egress"],
            "egress": self._build_rules(source),
        }
        return _POLICY | {"metadata": self.build_metadata(source), "spec": spec}

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Also when the host gives other ports, and when nodes come and go."""
        super().follow(look_at)
        caches = self.context.caches

        def on_host(change: Change) -> None:
            if access.list_node_ports(change.old) != access.list_node_ports(change.new):
                look_at(nested_key(change.latest))

        def on_node(change: Change) -> None:
            if access.list_addresses(change.old) != access.list_addresses(change.new):
                _look_at_outward(caches.nested(kinds.SERVICE).store.values(), look_at)

        caches.host(kinds.SERVICE).on_change(on_host)
        caches.host_nodes.on_change(on_node)


ROWS = (ServiceAccessRow, NodePortsRow)
