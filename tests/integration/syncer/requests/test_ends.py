"""The ends of pods."""

from __future__ import annotations

import pytest

from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.requests.conftest import Object, Stage

pytestmark = pytest.mark.slow

SPACE = "ends"


def _pod(name: str) -> Object:
    return build_pod(SPACE, name, automountServiceAccountToken=False, enableServiceLinks=False, terminationGracePeriodSeconds=7)


async def test_requests(stage: Stage) -> None:
    world = stage.world
    await stage.set_up()
    nested, host = await stage.start(_pod("deleted"))
    async with stage.step("the tenant deletes a pod"):
        await stage.delete(nested, host)
    async with stage.step("and wants it sooner"):
        await world.nested.delete(kinds.POD, "deleted", SPACE, grace_seconds=2)
        await stage.recorder.settle()
    async with stage.step("its host pod ends"):
        await stage.end(nested, host, is_last=True)
        await stage.no_node()
    nested, host = await stage.start(_pod("evicted"))
    async with stage.step("a host pod is evicted"):
        await world.report(host, phase="Failed", reason="Evicted", message="The node was low on resource: memory.")
        await world.nested_pod(nested, lambda found: found["status"]["phase"] == "Failed")
    await stage.remove((nested, host))
    nested, host = await stage.start(_pod("lost"))
    async with stage.step("a host pod is taken away"):
        await world.finish(host)
        await world.nested_pod(nested, lambda found: found["status"]["phase"] == "Failed")
    stage.let_node_go()
    await world.nested.delete(kinds.POD, "lost", SPACE)
    await world.gone(world.nested, kinds.POD, nested)
    await stage.no_node()
    await stage.recorder.settle()
    nested, host = await stage.create(_pod("unbound"))
    async with stage.step("a host pod that is on no node is taken away"):
        await world.finish(host)
        await world.gone(world.host, kinds.POD, host)
        host = await world.host_pod(nested)
    await stage.bind(nested, host)
    await stage.recorder.settle()
    await stage.remove((nested, host))
    stage.check()
