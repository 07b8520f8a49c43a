"""Host nodes, mirrored into the nested cluster while they run its pods."""

from __future__ import annotations

from collections.abc import Callable

from nestor.api import labels
from nestor.kube import Change, NotFound, kinds
from nestor.kube.informer import Key
from nestor.objects import Object, spec_of
from nestor.syncer.copies.fields import annotation, mapping, mirrored, value
from nestor.syncer.copies.row import Row
from nestor.syncer.translate import node

LINGER_SECONDS = 30
"""How long an unused node stays, because a pod's successor often returns to it."""


class NodeRow(Row):
    """A node is created when its first pod is bound, and removed after its last one. A tenant's own nodes are left alone."""

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

    @property
    def linger_seconds(self) -> float:
        """See `LINGER_SECONDS`."""
        return LINGER_SECONDS

    def is_wanted(self, key: Key, source: Object) -> bool:
        """True while a pod is on it. A suspended cluster keeps its nodes, or waiting DaemonSet pods would be deleted."""
        caches = self.context.caches
        is_kept = caches.is_suspended and self.copies.get(key[1]) is not None
        return bool(caches.nested_by_node.all(key[1])) or is_kept

    def build(self, source: Object) -> Object:
        """The nested node, with what the tenant has added to it."""
        return node.add_own(self._build(source), self._find_copy(source))

    def find_ignored(self, source: Object) -> str | None:
        """Labels and taints of the tenant's own: the host schedules by those of its own node."""
        copy = self._find_copy(source)
        return node.find_ignored(self._build(source), copy) if copy is not None else None

    def _build(self, source: Object) -> Object:
        return node.build_node(source, self.context.target.kubelet_port)

    def _find_copy(self, source: Object) -> Object | None:
        return self.copies.get(source["metadata"]["name"])

    def may_be_uncached(self, key: Key, copy: Object) -> bool:
        """Host nodes are watched one by one, from when they are used."""
        return not self.context.caches.host_nodes.knows(key[1])

    def missing(self, key: Key) -> None:
        """Refuse to go on: no pod may be bound to a node that does not exist."""
        raise NotFound(404, "NotFound", f'nodes "{key[1]}" not found')

    def follow(self, look_at: Callable[[Key], None]) -> None:
        """Look again when pods come and go, and when the cluster is suspended or resumed. Watch what is mirrored."""

        def on_copy(_: Change) -> None:
            self.context.caches.host_nodes.want(found["metadata"]["name"] for found in self.copies if self.is_ours(found))

        def on_pod(change: Change) -> None:
            before, now = (spec_of(pod).get("nodeName") for pod in (change.old, change.new))
            for name in filter(None, {before, now} if before != now else ()):
                look_at(("", name))

        def on_suspend() -> None:
            for found in self.copies:
                look_at(("", found["metadata"]["name"]))

        self.copies.on_change(on_copy)
        self.context.caches.nested(kinds.POD).on_change(on_pod)
        self.context.caches.on_suspend(on_suspend)


ROWS = (NodeRow,)
