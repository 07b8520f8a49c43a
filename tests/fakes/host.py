"""The host cluster's provider on an API server in memory, in place of a real one."""

from __future__ import annotations

from typing import cast

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, Invalid, kinds
from nestor.pods.providers.host import HostProvider
from tests.fakes.cluster import MemoryCluster
from tests.unit.pods.translate.builders import TARGET


class MemoryHost(HostProvider):
    """Has these pods. `refusal`: why it takes no others."""

    def __init__(self, *pods: Object, refusal: str | None = None, api: MemoryCluster | None = None) -> None:
        self.cluster = api or MemoryCluster()
        super().__init__(cast(Api, self.cluster), TARGET.namespace, labels.NESTED_UID)
        for pod in pods:
            self.cluster.put(kinds.POD, pod)
        if refusal is not None:
            self.cluster.refusal = lambda *_: Invalid(422, "Invalid", refusal)

    @property
    def pods(self) -> dict[str, Object]:
        """By name."""
        return {pod["metadata"]["name"]: pod for pod in self.cluster.every("pods")}
