"""Looks for the machines of another cluster, and finds those of a shape."""

from __future__ import annotations

from nestor.kube import kinds
from nestor.kube.tasks import together
from nestor.overflow.remote.build import Machines
from nestor.overflow.remote.cluster import Cluster
from nestor.overflow.remote.shapes import find_shapes
from nestor.pods.providers.base import WHOLE, Shape
from nestor.pods.providers.errors import NotYet


class Places:
    """Remembers which machines are of which shape."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._machines: dict[str, Machines] = {}

    async def discover(self) -> list[Shape]:
        """The shapes as they are now. Raises `ProviderError`."""
        api, own = await self._cluster.connect(), self._cluster.settings
        selector = ",".join(f"{key}={value}" for key, value in sorted(own.node_selector.items()))
        with self._cluster.in_our_words():
            nodes, quotas = await together(api.list(kinds.NODE, labels=selector), api.list(kinds.RESOURCE_QUOTA, own.namespace))
            found = find_shapes(nodes, quotas, own.shape_labels)
        self._machines = {item.shape.name: item.machines for item in found}
        return [item.shape for item in found]

    async def find(self, shape: str) -> Machines:
        """The machines of a shape. Raises `NotYet` if there are none any more."""
        own = self._cluster.settings
        if own.own_shapes is not None:
            given = own.own_shapes.get(shape, {})
            return Machines(tuple((key, given[key]) for key in own.shape_labels if key in given))
        if shape in ("", WHOLE):
            return Machines()
        if shape not in self._machines:
            await self.discover()
        if shape not in self._machines:
            raise NotYet(f"the cluster has no machines of shape '{shape}' any more")
        return self._machines[shape]
