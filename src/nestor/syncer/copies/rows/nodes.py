"""Host nodes, mirrored into the nested cluster while they run its pods, or as long as its class shows them."""

from __future__ import annotations

from collections.abc import Callable

from nestor.api import labels
from nestor.api.objects import Object, spec_of
from nestor.kube import Change, NotFound, kinds
from nestor.kube.informer import Key, key_of
from nestor.syncer.copies.fields import annotation, is_current, mapping, mirrored, value
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import node, node_choice
from nestor.syncer.view.context import Context
from nestor.syncer.view.shares import Shares

LINGER_SECONDS = 30
"""How long an unused node stays, because a pod's successor often returns to it."""


class NodeRow(Row):
    """A node is created when its first pod is bound, and removed after its last one, unless the class shows it anyway. A tenant's
    own nodes are left alone.
    """

    kind = kinds.NODE
    direction = "Up"
    ensures = "Presence"
    workers = 4
    fields = (
        mirrored("metadata.labels"),
        annotation(labels.MIRRORED),
        value("spec.taints"),
        value("spec.unschedulable"),
        mapping("status.capacity"),
        mapping("status.allocatable"),
        value("status.nodeInfo"),
        value("status.addresses"),
        value("status.conditions", ignores=("lastHeartbeatTime",)),
        value("status.daemonEndpoints"),
    )

    def __init__(self, context: Context, references: References) -> None:
        super().__init__(context, references)
        self._shares = Shares(context.caches)
        self._on_host = context.caches.host_by_node
        self._cluster_uid = str(context.target.owner.get("uid", ""))

    @property
    def linger_seconds(self) -> float:
        """See `LINGER_SECONDS`."""
        return LINGER_SECONDS

    @property
    def is_settled(self) -> bool:
        """Whether all nodes that the class shows are there, and say what the host's do."""
        sources = self.context.caches.host_nodes
        return sources.is_complete and all(self._is_settled(item) for item in sources)

    def is_wanted(self, key: Key, source: Object) -> bool:
        """True while a pod is on it, and for those that the class shows. One that has something of the tenant's own stays as
        well, and a suspended cluster keeps its nodes, or waiting DaemonSet pods would be deleted.
        """
        caches, copy = self.context.caches, self.copies.get(key[1])
        is_kept = self._is_sealed(key[1], copy) and (caches.is_suspended or bool(node.find_own(copy)))
        return self._is_used(key[1], copy) or is_kept or node_choice.is_shown(source, caches.policy)

    def _is_used(self, name: str, copy: Object | None) -> bool:
        """Whether pods are on it, in the host too if the tenant may have made it: who makes nodes makes pods that name them."""
        if not self.context.caches.nested_by_node.all(name):
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

    def may_be_uncached(self, key: Key, copy: Object) -> bool:
        """Those that the class does not show are watched one by one, from when they are used."""
        is_asked_for = self._is_used(key[1], copy) or self._is_sealed(key[1], copy)
        return is_asked_for and not self.context.caches.host_nodes.knows(key[1])

    def missing(self, key: Key) -> None:
        """Refuse to go on: no pod may be bound to a node that does not exist."""
        raise NotFound(404, "NotFound", f'nodes "{key[1]}" not found')

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when pods come and go, when the cluster is suspended or resumed, and when its policy or its quotas change.
        Watch what is mirrored.
        """
        caches = self.context.caches

        def on_copy(_: Change) -> None:
            ours = ((found["metadata"]["name"], found) for found in self.copies if self.is_ours(found))
            caches.host_nodes.want(name for name, found in ours if self._is_used(name, found) or self._is_sealed(name, found))

        def on_pod(change: Change) -> None:
            before, now = (spec_of(pod).get("nodeName") for pod in (change.old, change.new))
            for name in filter(None, {before, now} if before != now else ()):
                look_at(("", name))

        def look_at_copies() -> None:
            for found in self.copies:
                look_at(key_of(found))

        def on_policy() -> None:
            caches.host_nodes.select(node_choice.find_selector(caches.policy))
            for key in {key_of(found) for found in (*self.copies, *caches.host_nodes)}:
                look_at(key)

        self.copies.on_change(on_copy)
        caches.nested(kinds.POD).on_change(on_pod)
        caches.on_suspend(look_at_copies)
        caches.on_policy(on_policy)
        self._shares.on_turn(look_at_copies)


ROWS = (NodeRow,)
