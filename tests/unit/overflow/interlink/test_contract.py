"""An interLink backend keeps the contract, at both hops, and with plugins that do not like to be asked about unknown pods."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api.backend_kinds import Hop, Interlink
from nestor.api.objects import Object
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.interlink.settings import Settings
from nestor.pods.providers.base import Backend as AnyBackend
from tests.conformance.providers.backend import BackendContract, BackendPlace
from tests.conformance.providers.contract import LogsContract
from tests.fakes.interlink import FakeInterlink
from tests.unit.overflow.interlink.conftest import QUICK


class InterlinkPlace:
    namespace = "pods"

    def __init__(self, fake: FakeInterlink, provider: InterlinkProvider) -> None:
        self.provider: AnyBackend = provider
        self._fake = fake

    def refuse(self, pod: Object) -> tuple[Object, str]:
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        return pod | {"spec": pod["spec"] | {"volumes": [volume]}}, "volume 'data'"

    async def start(self, pod: Object) -> None:
        self._fake.run(pod["metadata"]["uid"])

    async def end(self, pod: Object, code: int) -> None:
        self._fake.end(pod["metadata"]["uid"], code)

    async def finish(self, pod: Object) -> None:
        self._fake.finish(pod["metadata"]["uid"])

    async def forget(self, pod: Object) -> None:
        del self._fake.pods[pod["metadata"]["uid"]]

    def count_starts(self, pod: Object) -> int:
        return self._fake.starts.count(pod["metadata"]["uid"])

    async def stop(self) -> None:
        async def hang_up(request: Any) -> None:
            request.transport.close()

        self._fake.fault = hang_up


@pytest.fixture(params=[("Server", False), ("Server", True), ("Plugin", False), ("Plugin", True)])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[BackendPlace]:
    hop: Hop
    hop, is_strict = request.param
    fake = FakeInterlink(hop)
    fake.is_strict = is_strict
    fake.ping = {
        "resources": {"cpu": "8", "memory": "32Gi", "accelerators": [{"resourceType": "nvidia.com/gpu", "available": 2}]}
    }
    async with fake.serve() as url:
        provider = InterlinkProvider(Settings(Interlink(url=url, hop=hop), limits=QUICK))
        yield InterlinkPlace(fake, provider)
        await provider.close()


class TestInterlink(BackendContract, LogsContract):
    """The contract."""
