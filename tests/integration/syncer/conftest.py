"""One pair of clusters and one syncer for all of these tests; each test has a nested namespace of its own."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from nestor.api import labels
from nestor.cluster.shape import Host
from nestor.kube import Api, kinds
from nestor.operator.guests.gangs.keeper import GangKeeper
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context
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


@pytest.fixture
async def keeper(world: World) -> AsyncIterator[GangKeeper]:
    """The operator's, whose caches are as full as the operator has them."""
    cache = Cache(world.host)
    context = Context.create(world.host, Settings(namespace="nestor-system", image="x"), cache, Host(()))
    found = GangKeeper(context)
    pods = cache.informers[kinds.POD]
    task = asyncio.create_task(pods.run())
    await pods.synced.wait()
    yield found
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.fixture
async def virtual(world: World) -> AsyncIterator[str]:
    """A node of a backend, with more room than the host's own node."""
    name = f"hpc-{uuid.uuid4().hex[:6]}"
    body = {"metadata": {"name": name, "labels": {labels.BACKEND: "hpc"}}, "spec": {}}
    await world.host.apply(kinds.NODE, body)
    taint = {"key": "virtual-kubelet.io/provider", "value": "hpc", "effect": "NoSchedule"}
    await world.host.patch(kinds.NODE, name, None, {"spec": {"taints": [taint]}})
    room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    await world.host.patch(kinds.NODE, name, None, {"status": {"capacity": room, "allocatable": room}}, subresource="status")
    yield name
    await world.host.delete(kinds.NODE, name)
