"""NetworkPolicies: each nested one has a copy in the host, which is about this cluster's pods alone."""

from __future__ import annotations

import json
from collections.abc import Callable

from nestor.api.objects import Object, labels_of
from nestor.kube import Change, kinds
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.target import nested_uid
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, exact, mapping
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import network_policy as translate
from nestor.syncer.translate.endpoint_slice import list_addresses
from nestor.syncer.view.trim import is_cut


class NetworkPolicyRow(Row):
    """All of them. Which pods they isolate is said by labels of these (see `pods.isolation`)."""

    kind = kinds.NETWORK_POLICY
    refused = "NotCarried"
    fails_closed = True
    workers = 4
    fields = (
        LABELS,
        ANNOTATIONS,
        mapping("spec.podSelector.matchLabels"),
        exact("spec.podSelector.matchExpressions"),
        exact("spec.policyTypes"),
        exact("spec.ingress"),
        exact("spec.egress"),
    )

    def find_refusal(self, source: Object) -> str | None:
        """One of which the cache keeps only whom it isolates."""
        return limits.TOO_LARGE_POLICY if is_cut(source) else None

    def find_excess(self, copy: Object | None, desired: Object) -> str | None:
        """The limits are on their number and on the size of each."""
        surplus = limits.find_surplus_of_policies(len(self.copies.store)) if copy is None else None
        surplus = surplus or limits.find_excess_of_object(self.kind.name, len(json.dumps(desired)))
        return surplus or super().find_excess(copy, desired)

    def find_ignored(self, source: Object) -> str | None:
        """What it allows beyond the walls."""
        return "; ".join(translate.find_ignored(source, self._look_around())) or None

    def build(self, source: Object) -> Object:
        """The host's one."""
        return translate.build_policy(source, self._look_around())

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again at all when the class changes, and at those that depend on namespaces or addresses when these do."""
        caches = self.context.caches
        policies = caches.nested(self.kind)

        def look_at_all(is_affected: Callable[[Object], bool]) -> None:
            for found in policies:
                if is_affected(found):
                    look_at(key_of(found))

        def on_namespace(change: Change) -> None:
            if change.old is None or change.new is None or labels_of(change.old) != labels_of(change.new):
                look_at_all(translate.has_namespaces)

        def on_pod(change: Change) -> None:
            if _read_addresses(change.old) != _read_addresses(change.new):
                look_at_all(translate.has_blocks)

        caches.on_policy(lambda: look_at_all(lambda _: True))
        caches.nested(kinds.NAMESPACE).on_change(on_namespace)
        caches.host(kinds.POD).on_change(on_pod)

    def _look_around(self) -> translate.Surroundings:
        caches = self.context.caches
        allowed = caches.policy.allowed_services
        return translate.Surroundings(
            target=self.context.target,
            namespaces={item["metadata"]["name"]: labels_of(item) for item in caches.nested(kinds.NAMESPACE)},
            pods={address: uid for pod in caches.host(kinds.POD) for address, uid in _read_addresses(pod).items()},
            internet=caches.policy.internet,
            lets_in=allowed.node_ports or allowed.load_balancers,
        )


def _read_addresses(pod: Object | None) -> dict[str, str]:
    """The addresses that belong to a host pod alone, each with the UID of its nested pod."""
    uid = nested_uid(pod) if pod is not None else None
    return dict.fromkeys(list_addresses(pod), uid) if pod is not None and uid else {}


ROWS = (NetworkPolicyRow,)
