"""The host cluster's provider on an API server in memory, in place of a real one."""

from typing import cast

from nestor.api.objects import Object
from nestor.kube import Api, Invalid, kinds
from nestor.pods.providers.errors import NotFound
from nestor.pods.providers.host import HostProvider
from tests.fakes.cluster import MemoryCluster


class ReadableHost(HostProvider):
    """Tests see what it has."""

    lists = None

    async def get(self, pod: Object) -> Object:
        """This very pod. Raises `NotFound`."""
        there = await self._api.find(kinds.POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
        if there is None or there["metadata"]["uid"] != pod["metadata"]["uid"]:
            raise NotFound("it is gone")
        return there


class MemoryHost(ReadableHost):
    """Has these pods. `refusal`: why it takes no others."""

    def __init__(self, *pods: Object, refusal: str | None = None, api: MemoryCluster | None = None) -> None:
        self.cluster = api or MemoryCluster()
        super().__init__(cast(Api, self.cluster))
        for pod in pods:
            self.cluster.put(kinds.POD, pod)
        if refusal is not None:
            self.cluster.refusal = lambda *_: Invalid(422, "Invalid", refusal)

    @property
    def pods(self) -> dict[str, Object]:
        """By name."""
        return {pod["metadata"]["name"]: pod for pod in self.cluster.every("pods")}
