"""Suspend and resume, of a pod without a controller and of a Job."""

from __future__ import annotations

import pytest

from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.requests.conftest import Object, Stage
from tests.integration.syncer.suspend.test_suspend import suspend, workload

pytestmark = pytest.mark.slow

SPACE = "suspend"
PLAIN: Object = {"automountServiceAccountToken": False, "enableServiceLinks": False}


async def test_requests(stage: Stage) -> None:
    world = stage.world
    await stage.set_up()
    bare = await stage.start(_pod("bare"))
    async with stage.step("a Job is created"):
        await world.nested.create(kinds.JOB, workload(kinds.JOB, SPACE, "train", pod=PLAIN | {"restartPolicy": "Never"}))
        of_job = await _pair_of_job(stage)
    await stage.bind(*of_job)
    await stage.recorder.settle()
    await stage.report(*of_job)
    async with stage.step("the cluster is suspended"):
        await suspend(world)
        for _, host in (bare, of_job):
            await stage.ending(host)
    async with stage.step("the host pod without a controller ends"):
        await stage.end(*bare)
        await world.eventually(lambda: world.nested.find(kinds.POD, "bare", SPACE))
    async with stage.step("the Job's host pod ends"):
        await stage.end(*of_job)
        await stage.cluster_is(lambda status: bool(status["suspended"]))
    async with stage.step("a pod is created meanwhile"):
        late = await world.nested.create(kinds.POD, _pod("late"))
        await stage.recorder.settle()
    async with stage.step("the cluster is resumed"):
        stage.let_node_go()
        await suspend(world, False)
        await stage.no_node()
        again = [await _pair(stage, "bare"), await _pair(stage, "late"), await _pair_of_job(stage)]
        await stage.cluster_is(lambda status: not status["suspended"])
    assert again[1][0]["metadata"]["uid"] == late["metadata"]["uid"]
    await _clear(stage, again)
    stage.check()


def _pod(name: str) -> Object:
    pod = build_pod(SPACE, name)
    pod["spec"] |= PLAIN
    return pod


async def _clear(stage: Stage, pairs: list[tuple[Object, Object]]) -> None:
    """Nothing is left for the scenarios that follow."""
    for pair in pairs:
        await stage.bind(*pair)
    await stage.recorder.settle()
    await stage.world.nested.delete(kinds.JOB, "train", SPACE)
    for nested, host in pairs[:2]:
        await stage.delete(nested, host)
    for nested, host in pairs:
        await stage.ending(host)
        await stage.recorder.settle()
        await stage.end(nested, host, is_last=(nested, host) == pairs[-1])
    await stage.no_node()


async def _pair(stage: Stage, name: str) -> tuple[Object, Object]:
    nested = await stage.world.nested.get(kinds.POD, name, SPACE)
    return nested, await stage.world.host_pod(nested)


async def _pair_of_job(stage: Stage) -> tuple[Object, Object]:
    (nested,) = await stage.world.eventually(lambda: stage.world.nested.list(kinds.POD, SPACE, labels="app=train"))
    return nested, await stage.world.host_pod(nested)
