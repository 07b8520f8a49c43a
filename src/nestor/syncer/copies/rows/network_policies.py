"""NetworkPolicies: each nested one has a copy in the host, which is about this cluster's pods alone."""

from nestor.api.objects import Object, labels_of
from nestor.kube import Change, kinds
from nestor.pods.translate.target import nested_uid
from nestor.syncer import limits
from nestor.syncer.copies.fields import ANNOTATIONS, LABELS, exact
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import network_policy as translate
from nestor.syncer.view.trim import is_cut


class PolicyRow(Row):
    """Policies of the host."""

    kind = kinds.NETWORK_POLICY
    refused = "NotCarried"
    fails_closed = True
    follows_policy = True
    is_small = True
    fields = (
        LABELS,
        ANNOTATIONS,
        exact("spec.podSelector.matchLabels"),
        exact("spec.podSelector.matchExpressions"),
        exact("spec.policyTypes"),
        exact("spec.ingress"),
        exact("spec.egress"),
    )


class NetworkPolicyRow(PolicyRow):
    """All of them. Which pods they isolate is said by labels of these (see `pods.isolation`)."""

    def find_refusal(self, source: Object) -> str | None:
        """One of which the cache keeps only whom it isolates."""
        return limits.TOO_LARGE_POLICY if is_cut(source) else None

    def find_ignored(self, source: Object) -> list[str]:
        return translate.find_ignored(source, self._look_around())

    def build(self, source: Object) -> Object:
        return translate.build_policy(source, self._look_around())

    def set_up(self) -> None:
        self.caches.nested(kinds.NAMESPACE).on_change(self._on_namespace)
        self.caches.host(kinds.POD).on_change(self._on_pod)

    def _on_namespace(self, change: Change) -> None:
        if change.old is None or change.new is None or labels_of(change.old) != labels_of(change.new):
            self.wake_each(filter(translate.has_namespaces, self.caches.nested(self.kind)))

    def _on_pod(self, change: Change) -> None:
        if _read_addresses(change.old) != _read_addresses(change.new):
            self.wake_each(filter(translate.has_blocks, self.caches.nested(self.kind)))

    def _look_around(self) -> translate.Surroundings:
        allowed = self.policy.allowed_services
        return translate.Surroundings(
            target=self.context.target,
            namespaces={item["metadata"]["name"]: labels_of(item) for item in self.caches.nested(kinds.NAMESPACE)},
            pods={address: uid for pod in self.caches.host(kinds.POD) for address, uid in _read_addresses(pod).items()},
            internet=self.policy.internet,
            lets_in=allowed.node_ports or allowed.load_balancers,
        )


def _read_addresses(pod: Object | None) -> dict[str, str]:
    """The addresses that belong to a host pod alone, each with the UID of its nested pod."""
    uid = nested_uid(pod) if pod is not None else None
    return dict.fromkeys(translate.list_addresses(pod), uid) if pod is not None and uid else {}


ROWS = (NetworkPolicyRow,)
