"""The labels and taints that tenants give to nested nodes, and what follows from them for pods that have no node yet."""

from __future__ import annotations

from collections.abc import Callable

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.kube import Change, kinds
from nestor.syncer.translate import own_nodes
from nestor.syncer.translate.node import find_own
from nestor.syncer.translate.own_nodes import NestedNode
from nestor.syncer.view.caches import Caches


class OwnNodes:
    """Knows what the tenant has added to the nodes that mirror the host's."""

    def __init__(self, caches: Caches) -> None:
        self._nodes: dict[str, NestedNode] = {}
        self._has_own = False
        self._call: Callable[[], None] = lambda: None
        caches.nested(kinds.NODE).on_change(self._on_node)

    def on_turn(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever other nodes may be right for pods than before."""
        self._call = handler

    def resolve(self, pod: Object) -> Object:
        """See `own_nodes.resolve`."""
        return own_nodes.resolve(pod, self._nodes) if self._has_own else pod

    def find_ignored(self, pod: Object) -> list[str]:
        """See `own_nodes.find_ignored`."""
        return own_nodes.find_ignored(pod, self._nodes) if self._has_own else []

    def build_mark(self, pod: Object, resolved: Object) -> dict[str, str]:
        """The annotation that says for which nodes a host pod is made; none if the pod says so itself."""
        found = own_nodes.build_digest(pod, resolved)
        return {labels.OWN_NODES: found} if found else {}

    def is_outdated(self, pod: Object, host: Object) -> bool:
        """Whether a host pod that has no node yet was made for other nodes."""
        found = annotations_of(host).get(labels.OWN_NODES)
        if host["spec"].get("nodeName") or not (found or self._has_own):
            return False
        return found != self.build_mark(pod, self.resolve(pod)).get(labels.OWN_NODES)

    def _on_node(self, change: Change) -> None:
        name, old = change.key[1], self._nodes.pop(change.key[1], None)
        is_mirrored = change.new is not None and labels_of(change.new).get(labels.MANAGED_BY) == "nestor"
        new = NestedNode(labels_of(change.new), find_own(change.new)) if is_mirrored else None
        if new is not None:
            self._nodes[name] = new
        had_own = self._has_own
        self._has_own = any(node.own for node in self._nodes.values())
        if old != new and (had_own or self._has_own):
            self._call()
