"""A pair of clusters of their own: to suspend one is to end everything in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.syncer import world as worlds
from tests.integration.syncer.player import Player, playing
from tests.integration.syncer.world import CLUSTER, World


@pytest.fixture(scope="package")
async def world(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[World]:
    """A running syncer between two clusters."""
    async with (
        worlds.running_nested() as plane,
        await Api.connect(str(plane.kubeconfig), manager="tests") as nested,
    ):
        made = await worlds.build_world(host, control_plane, plane, nested)
        await made.start()
        yield made
        await made.stop()


@pytest.fixture
async def player(world: World, space: str) -> AsyncIterator[Player]:
    """Host pods run and end; afterwards nothing is suspended, and no pod of the test is left."""
    async with playing(world) as found:
        yield found
        found.end_all()
        await world.host.patch(kinds.NESTED_CLUSTER, CLUSTER, world.namespace, {"spec": {"suspend": False}})
        await world.nested.delete(kinds.NAMESPACE, space)
        namespace = {"metadata": {"name": space, "uid": ""}}
        await world.gone(world.nested, kinds.NAMESPACE, namespace)
