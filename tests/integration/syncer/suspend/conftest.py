"""A pair of clusters of their own: to suspend one is to end everything in it."""

from collections.abc import AsyncIterator

import pytest

from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver
from tests.integration.syncer import world as worlds
from tests.integration.syncer.player import Player, playing
from tests.integration.syncer.world import World

DAEMON_SET = Kind("apps", "v1", "daemonsets", "DaemonSet")


@pytest.fixture(scope="package")
async def world(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[World]:
    """A running syncer between two clusters."""
    async with worlds.running(host, control_plane) as made:
        yield made


@pytest.fixture
async def player(world: World, space: str) -> AsyncIterator[Player]:
    """Host pods run and end; afterwards nothing is suspended, and no pod of the test is left."""
    async with playing(world) as found:
        yield found
        found.end_all()
        await world.tell({"spec": {"suspend": False}})  # a pod that it has stored is not made again once it is deleted below
        await _empty(world, space)


async def _empty(world: World, space: str) -> None:
    """Not by its namespace: that takes its controller 5 s and more."""
    for kind in (kinds.CRON_JOB, kinds.JOB, kinds.DEPLOYMENT, kinds.STATEFUL_SET, DAEMON_SET):
        await world.nested.request("DELETE", kind.path(space), None, {"propagationPolicy": "Background"})

    async def is_empty() -> bool:
        await world.nested.request("DELETE", kinds.POD.path(space), None, {"gracePeriodSeconds": 0})
        return not (await world.nested.list(kinds.POD, space) or await world.host.list(kinds.POD, world.namespace))

    await world.eventually(is_empty)
