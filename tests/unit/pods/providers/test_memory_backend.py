"""The backend that unit tests of virtual nodes use keeps what backends promise."""

import pytest

from nestor.api.objects import Object
from tests.conformance.providers.backend import BackendContract
from tests.fakes.backend import MemoryBackend


class MemoryPlace:
    namespace = "shop"

    def __init__(self) -> None:
        self.provider = MemoryBackend()
        self.provider.ends_at_once = False

    def refuse(self, pod: Object) -> tuple[Object, str]:
        return {**pod, "spec": {**pod["spec"], "hostNetwork": True}}, "hostNetwork"

    async def start(self, pod: Object) -> None:
        self.provider.run(pod["metadata"]["uid"])

    async def end(self, pod: Object, code: int) -> None:
        self.provider.end(pod["metadata"]["uid"], code)

    async def finish(self, pod: Object) -> None:
        self.provider.finish(pod["metadata"]["uid"])

    async def forget(self, pod: Object) -> None:
        self.provider.finish(pod["metadata"]["uid"])

    def count_starts(self, pod: Object) -> int:
        return self.provider.starts[pod["metadata"]["uid"]]

    async def stop(self) -> None:
        self.provider.is_down = True


class TestMemoryBackend(BackendContract):
    """The whole suite."""

    @pytest.fixture
    def place(self) -> MemoryPlace:
        return MemoryPlace()
