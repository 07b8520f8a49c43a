"""The provider of the unit tests keeps the contract, or they would prove nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.providers.contract import ProviderContract
from tests.conformance.providers.memory import MemoryProvider

Object = dict[str, Any]


class MemoryPlace:
    namespace = "pods"

    def __init__(self) -> None:
        self.invalid_patch: Object = {"spec": {"hostNetwork": True}}
        self.provider = MemoryProvider(
            refusal=lambda pod: "hostNetwork is not supported" if pod["spec"].get("hostNetwork") else None
        )

    def refuse(self, pod: Object) -> tuple[Object, str]:
        return pod | {"spec": pod["spec"] | {"hostNetwork": True}}, "hostNetwork"

    async def start(self, pod: Object) -> Object:
        await self.provider.patch(pod, {"spec": {"nodeName": "n"}})
        return await self.provider.get(pod)

    async def finish(self, pod: Object) -> None:
        del self.provider.pods[pod["metadata"]["name"]]

    async def change(self, pod: Object) -> None:
        self.provider.touch(pod["metadata"]["name"])

    async def add_foreign(self, name: str) -> None:
        self.provider.pods[name] = {"metadata": {"name": name, "uid": "foreign", "labels": {}}, "spec": {}}


class TestMemoryProvider(ProviderContract):
    """The contract, in memory."""

    @pytest.fixture
    def place(self) -> MemoryPlace:
        return MemoryPlace()
