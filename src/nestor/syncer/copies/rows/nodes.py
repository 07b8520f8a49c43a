"""Host nodes, mirrored into the nested cluster while they run its pods, or as long as its class shows them."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from nestor.api import labels
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.api.policy import Policy
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.kube import Change, NotFound, kinds
from nestor.kube.informer import Key, key_of
from nestor.pods.translate.gang_room import Amounts, find_used
from nestor.pods.translate.node_rules import find_backend
from nestor.syncer import limits
from nestor.syncer.copies.fields import annotation, exact, is_current, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import node
from nestor.syncer.view.caches import Caches


class NodeRow(Row):
    """A node is created when its first pod is bound, and removed after its last one, unless the class shows it anyway. A tenant's
    own nodes are left alone.
    """

    kind = kinds.NODE
    direction = "Up"
    ensures = "Presence"
    linger_seconds = 30  # a pod's successor often returns to its node
    fields = (
        exact("metadata.labels"),
        annotation(labels.MIRRORED),
        value("spec.taints"),
        value("spec.unschedulable"),
        exact("status.capacity"),
        exact("status.allocatable"),
        value("status.nodeInfo"),
        value("status.addresses"),
        value("status.conditions", ignores=("lastHeartbeatTime",)),
        value("status.daemonEndpoints"),
    )

    def set_up(self) -> None:
        self._shares = Shares(self.caches)
        self._on_host = self.caches.host_by_node
        self._cluster_uid = str(self.context.target.owner.get("uid", ""))
        self.copies.on_change(self._watch_mirrored)
        self.caches.nested(kinds.POD).on_change(self._on_pod)
        self.caches.on_suspend(self._wake_copies)
        self.caches.on_policy(self._on_policy)
        self._shares.wake = self._wake_copies

    @property
    def is_settled(self) -> bool:
        """Whether all nodes that the class shows are there, and say what the host's do."""
        sources = self.caches.host_nodes
        return sources.is_complete and all(self._is_settled(item) for item in sources)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """While a pod is on it, and for those that the class shows. One that has something of the tenant's own stays as
        well, and a suspended cluster keeps its nodes, or waiting DaemonSet pods would be deleted.
        """
        copy = self.copies.get(key[1])
        is_kept = self._is_sealed(key[1], copy) and (self.caches.is_suspended or bool(node.find_own(copy)))
        return self._is_used(key[1], copy) or is_kept or is_shown(source, self.policy)

    def _is_used(self, name: str, copy: Object | None) -> bool:
        """Whether pods are on it, in the host too if the tenant may have made it: who makes nodes makes pods that name them."""
        if not self.caches.nested_by_node.all(name):
            return False
        return copy is None or self._is_sealed(name, copy) or bool(self._on_host.all(name))

    def _is_sealed(self, name: str, copy: Object | None) -> bool:
        """Whether we have made this nested node. A tenant's, with our label and the name of any node of the host, would be
        filled with what that node says: its addresses, its labels.
        """
        return node.is_sealed(copy, node.build_seal(self._cluster_uid, name))

    def build(self, source: Object) -> Object:
        """The nested node, with what the tenant has added to it."""
        built = node.build_node(source, self.context.target.kubelet_port, self._shares.limit(source))
        name = source["metadata"]["name"]
        return node.add_own(built, self.copies.get(name), node.build_seal(self._cluster_uid, name))

    def _is_settled(self, source: Object) -> bool:
        key = key_of(source)
        copy = self.copies.get(key[1])
        if copy is None:
            return not self.is_wanted(key, source)
        return not self.is_ours(copy) or is_current(copy, self.build(source), self.fields)

    def may_be_uncached(self, key: Key, copy: Object | None) -> bool:
        """Those that the class does not show are watched one by one, for as long as they are mirrored and used. One that a tenant
        deletes comes back if pods are on it in the host: any nested pod may name any node.
        """
        name = key[1]
        is_asked_for = self._is_used(name, copy) or self._is_sealed(name, copy) if copy else bool(self._on_host.all(name))
        return is_asked_for and not self.caches.host_nodes.knows(name)

    def missing(self, key: Key) -> None:
        raise NotFound(404, "NotFound", f'nodes "{key[1]}" not found')

    def _watch_mirrored(self, _: Change) -> None:
        ours = ((found["metadata"]["name"], found) for found in self.copies if self.is_ours(found))
        self.caches.host_nodes.want(name for name, found in ours if self._is_used(name, found) or self._is_sealed(name, found))

    def _on_pod(self, change: Change) -> None:
        before, now = (spec_of(pod).get("nodeName") for pod in (change.old, change.new))
        for name in filter(None, {before, now} if before != now else ()):
            self.wake(("", name))

    def _wake_copies(self) -> None:
        self.wake_each(self.copies)

    def _on_policy(self) -> None:
        self.caches.host_nodes.select(find_selector(self.policy))
        for key in {key_of(found) for found in (*self.copies, *self.caches.host_nodes)}:
            self.wake(key)


ROWS = (NodeRow,)


def find_selector(policy: Policy) -> str | None:
    """The label selector by which to ask for the nodes to show; None if only those in use are shown."""
    if policy.nodes is None:
        return None
    return ",".join([*(f"{key}={value}" for key, value in sorted(policy.places.node_selector.items())), f"!{labels.BACKEND}"])


def is_shown(host: Object, policy: Policy) -> bool:
    """Whether a node is shown although no pod of the cluster is there: the class shows it, and lets pods run on it."""
    is_allowed = policy.places.node_selector.items() <= labels_of(host).items()
    return policy.nodes is not None and is_allowed and find_backend(host, policy.places) is None


_COUNTED = {"count/pods": "pods"}
_ZERO = Decimal(0)
FIRST_SECONDS, AGAIN_SECONDS, NODE_SECONDS = 0.5, 10.0, 0.1
"""Between a change and a look at it: at first, and after another look, there per node at least."""


class Shares:
    """What quotas and the cluster's own pods leave of nodes. Each pod changes that of all: it is only looked at now and then."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._left: Amounts = {}
        self._used: dict[str, Amounts] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looked: float | None = None
        self.wake: Callable[[], None] = lambda: None
        """Called after each look at changes."""
        caches.host_quotas.on_change(lambda _: self._plan())
        caches.host(kinds.POD).on_change(self._on_pod)

    def limit(self, node: Object) -> dict[str, str] | None:
        """What the cluster can use of a host node; None if that is all."""
        if self._looked is None and self._caches.host_quotas.synced.is_set():
            self._read()
        if not self._left:
            return None
        used = self._used.get(node["metadata"]["name"], {})
        return limit(status_of(node).get("allocatable") or {}, self._left, used)

    def _on_pod(self, change: Change) -> None:
        nodes = {spec_of(pod).get("nodeName") for pod in (change.old, change.new)}
        if self._left and (len(nodes) > 1 or change.new is None):
            self._plan()

    def _plan(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            pause = max(AGAIN_SECONDS, NODE_SECONDS * len(self._caches.nested(kinds.NODE).store))
            due = self._looked + pause if self._looked is not None else 0.0
            self._timer = loop.call_later(max(FIRST_SECONDS, due - loop.time()), self._look)

    def _look(self) -> None:
        self._timer = None
        self._read()
        self.wake()

    def _read(self) -> None:
        self._looked = asyncio.get_running_loop().time()
        self._left = find_left(self._caches.host_quotas)
        self._used = find_used(self._caches.host(kinds.POD))


def find_left(quotas: Iterable[Object]) -> Amounts:
    """What the quotas leave of the resources that nodes have; of those that no quota limits, nothing is said.

    What is requested can be no more than the limits, so that quotas of limits count as well. Those with scopes do not: they are
    about some pods alone.
    """
    left: Amounts = {}
    for quota in quotas:
        if spec_of(quota).get("scopes") or spec_of(quota).get("scopeSelector"):
            continue
        for name, rest in limits.list_left(quota):
            resource = _COUNTED.get(name) or name.removeprefix("requests.").removeprefix("limits.")
            left[resource] = max(_ZERO, min(left.get(resource, rest), rest))
    return left


def limit(allocatable: Mapping[str, str], left: Amounts, used: Amounts) -> dict[str, str]:
    """What the cluster can use of a node: what its pods have there and what the quotas leave, but no more than the node has."""
    result = dict(allocatable)
    for resource, amount in allocatable.items():
        if resource in left:
            most = left[resource] + used.get(resource, _ZERO)
            if most < parse_quantity(str(amount)):
                result[resource] = write_quantity(most)
    return result
