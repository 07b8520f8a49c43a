"""Virtual nodes whose backend is another cluster: two real API servers, one on each side. The other one's kubelets are played.

What a pod there lives through is in `tests/unit/overflow` and, with kubelets, in `tests/e2e/test_overflow_remote.py`.
"""

from typing import Any

import pytest

from nestor.kube import Api, kinds
from nestor.overflow.vnode.pods import inputs
from tests.integration.apiserver import ControlPlane
from tests.integration.providers import remote
from tests.integration.vnode.world import World
from tests.waiting import eventually


async def configure(world: World, value: str) -> None:
    """A user writes a ConfigMap."""
    await world.api.apply(kinds.CONFIG_MAP, {"metadata": {"name": "settings", "namespace": world.space}, "data": {"a": value}})


async def test_what_a_pod_was_given_follows(
    virtual: World, host: Api, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(inputs, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(inputs, "PERIOD_SECONDS", 0.2)
    await configure(virtual, "1")
    await virtual.stop()
    async with remote.opened(host, control_plane) as far:
        provider: Any = await far.connect()
        virtual.backend = provider
        await virtual.start()
        uid = await virtual.bind("web", volumes=[{"name": "v", "configMap": {"name": "settings"}}])

        async def has(value: str) -> bool:
            copies = await far.api.list(kinds.CONFIG_MAP, far.space, labels=f"nestor.dev/host-uid={uid}")
            return {"a": value} in [item["data"] for item in copies]

        await virtual.accepted("web")
        assert await has("1")
        await configure(virtual, "2")
        await eventually(lambda: has("2"))
        await virtual.stop()
    assert far.starts == {uid: 1}
