"""One pair of clusters and one syncer for all of these tests; each test has a nested namespace of its own."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.syncer import world as worlds
from tests.integration.syncer.world import World

Allow = Callable[..., Awaitable[None]]


@pytest.fixture(scope="session")
async def world(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[World]:
    """A running syncer between two clusters."""
    async with worlds.running(host, control_plane) as made:
        yield made


@pytest.fixture
async def allow(world: World) -> AsyncIterator[Allow]:
    """`World.allow`; nothing of it is allowed afterwards."""
    said: dict[str, None] = {}

    async def write(**policy: Any) -> None:
        said.update(dict.fromkeys(policy))
        await world.allow(**policy)

    yield write
    await world.allow(**said)


@pytest.fixture
async def space(world: World) -> str:
    """A nested namespace that takes pods."""
    name = f"space-{uuid.uuid4().hex[:8]}"
    await world.nested.create(kinds.NAMESPACE, {"metadata": {"name": name}})
    await world.eventually(lambda: world.nested.find(kinds.SERVICE_ACCOUNT, "default", name))
    # A pod waits for it, while its token is made already.
    await world.eventually(lambda: world.nested.find(kinds.CONFIG_MAP, "kube-root-ca.crt", name))
    return name
