"""What a deletion may leave at backends: pods on virtual nodes that had to go before their backend had confirmed their end."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator

from nestor.api import labels
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import kinds
from nestor.operator.status.build import Event
from nestor.operator.status.report import post
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

FORCED = "PodForceDeleted"
"""Reason of the event about a pod that was deleted without its node's confirmation."""
NAMED = 6
"""How many pods one event names: its message has a limit."""


class LeftPods:
    """Names each such pod once: with its UID, by which the backend knows it, its node and its backend."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def split(self, pods: Iterable[Object]) -> tuple[list[Object], list[Object]]:
        """Those on virtual nodes, which only their backends can end, and the others."""
        at_backends: list[Object] = []
        others: list[Object] = []
        for pod in pods:
            (others if self._find_node(pod) is None else at_backends).append(pod)
        return at_backends, others

    async def tell(self, pods: Iterable[Object], about: Object | None) -> None:
        """Post events about their nodes and, if it is still there, about their job.

        Call it before they are deleted: once they are gone, nobody could name them.
        """
        by_node: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in pods:
            by_node[str(spec_of(pod).get("nodeName"))].append(pod)
        for name, found in by_node.items():
            node = self._context.cache.find(kinds.NODE, name)
            if node is None:
                continue
            for message in _describe(node, found):
                log.warning("%s", message)
                await self._context.events.post(_about(node), "Warning", FORCED, message)
                if about is not None:
                    await post(self._context, about, Event("Warning", FORCED, message))

    def _find_node(self, pod: Object) -> Object | None:
        """Its node, if that is a backend's."""
        name = spec_of(pod).get("nodeName")
        return self._context.cache.find(kinds.NODE, name) if name else None


def _describe(node: Object, pods: list[Object]) -> Iterator[str]:
    backend, namespace = labels_of(node).get(labels.BACKEND, ""), pods[0]["metadata"]["namespace"]
    where = f"backend '{backend}' (node '{node['metadata']['name']}')"
    for first in range(0, len(pods), NAMED):
        part = [f"{pod['metadata']['name']} (UID {pod['metadata']['uid']})" for pod in pods[first : first + NAMED]]
        yield f"{where} has not confirmed the end of pods of namespace '{namespace}', which may be left there: {', '.join(part)}"


def _about(node: Object) -> Object:
    """The subject of an event about a node. Kubelets give its name as its UID, and so `kubectl describe node` finds it."""
    name = node["metadata"]["name"]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
