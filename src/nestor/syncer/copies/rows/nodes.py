"""Host nodes that run this cluster's pods, mirrored into the nested cluster for as long as they do."""

from __future__ import annotations

from collections.abc import Callable

from nestor.kube import Change, NotFound, kinds
from nestor.kube.informer import Key
from nestor.objects import Object, spec_of
from nestor.syncer.copies.fields import mapping, mirrored, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import node

LINGER_SECONDS = 30
"""How long an unused node stays: a pod's successor usually comes back to it."""


class NodeRow(Row):
    """A node is made when its first pod is bound, and removed after its last one. A tenant's virtual nodes are left alone."""

    kind = kinds.NODE
    direction = "Up"
    ensures = "Presence"
    workers = 4
    fields = (
        mirrored("metadata.labels"),
        value("spec.taints"),
        value("spec.unschedulable"),
        mapping("status.capacity"),
        mapping("status.allocatable"),
        value("status.nodeInfo"),
        value("status.addresses"),
        value("status.conditions", ignores=("lastHeartbeatTime",)),
        value("status.daemonEndpoints"),
    )

    @property
    def linger_seconds(self) -> float:
        """See `LINGER_SECONDS`."""
        return LINGER_SECONDS

    def is_wanted(self, key: Key, source: Object) -> bool:
        """While a pod is on it. A suspended cluster keeps its nodes: its DaemonSets' pods wait for them, and go with them."""
        caches = self.context.caches
        is_kept = caches.is_suspended and self.copies.get(key[1]) is not None
        return bool(caches.nested_by_node.all(key[1])) or is_kept

    def build(self, source: Object) -> Object:
        """The nested node."""
        return node.build_node(source, self.context.target.kubelet_port)

    def missing(self, key: Key) -> None:
        """No pod is bound to a node that does not exist."""
        raise NotFound(404, "NotFound", f'nodes "{key[1]}" not found')

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Pods come and go, and the cluster is suspended and resumed."""

        def on_pod(change: Change) -> None:
            before, now = (spec_of(pod).get("nodeName") for pod in (change.old, change.new))
            for name in filter(None, {before, now} if before != now else ()):
                look_at(("", name))

        def on_suspend() -> None:
            for found in self.copies:
                look_at(("", found["metadata"]["name"]))

        self.context.caches.nested(kinds.POD).on_change(on_pod)
        self.context.caches.on_suspend(on_suspend)


ROWS = (NodeRow,)
