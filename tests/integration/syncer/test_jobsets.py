"""JobSets in a nested cluster, by their own controller and its webhooks: how they end, and how their pods start together."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.objects import Object, annotations_of
from nestor.kube import Kind, kinds
from nestor.operator.guests.gangs.keeper import GangKeeper
from tests.integration.controllers import JOBSETS
from tests.integration.syncer.conftest import Allow
from tests.integration.syncer.gangs import HERE, RULES, decided, is_held, until_let_go
from tests.integration.syncer.player import playing
from tests.integration.syncer.pods import build_pod, is_ready
from tests.integration.syncer.test_outcome import is_state, say, target, told
from tests.integration.syncer.world import START, World, running_status
from tests.waiting import until, wait_for_none

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first one builds JobSet, if `make test-full` has not

JOBSET = Kind("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
PREFIX = "jobset.sigs.k8s.io"


@pytest.fixture(scope="module")
async def controller(world: World) -> AsyncIterator[None]:
    """JobSet's controller at the nested cluster."""
    async with JOBSETS.running(world.plane, world.nested):
        yield


@pytest.fixture
async def sets(world: World, controller: None, space: str) -> AsyncIterator[str]:
    """A nested namespace for JobSets, of which nothing is left afterwards."""
    yield space
    await say(world, None)
    async with playing(world):
        for item in await world.nested.list(JOBSET, space):
            await world.nested.delete(JOBSET, item["metadata"]["name"], space)
        for kind in (JOBSET, kinds.JOB, kinds.POD):
            await wait_for_none(world.nested, kind, space)
    await world.tell({"status": {"gangs": None}})


def part(name: str, count: int, **more: Any) -> Object:
    """Jobs of a JobSet: one with so many pods."""
    pod = build_pod("", container={"resources": {"requests": {"cpu": "2"}}})["spec"] | {"restartPolicy": "Never"}
    job = {"backoffLimit": 0, "parallelism": count, "completions": count, "template": {"spec": pod}}
    return {"name": name, "template": {"spec": job}, **more}


async def create(world: World, space: str, *parts: Object, notes: Object | None = None, **spec: Any) -> None:
    """A JobSet; by default, of a leader and two workers."""
    meta = {"name": "train", "namespace": space, "annotations": notes or {}}
    jobs = list(parts) or [part("leader", 1), part("workers", 2)]
    body = {"apiVersion": JOBSET.api_version, "kind": JOBSET.name, "metadata": meta}
    await world.nested.create(JOBSET, body | {"spec": {"replicatedJobs": jobs, **spec}})


async def pods_of(world: World, space: str, count: int, attempt: int = 0) -> list[Object]:
    """So many pods of this attempt, once they are there; the leader first."""
    chosen = f"{PREFIX}/restart-attempt={attempt}"
    found = await until(lambda: world.nested.list(kinds.POD, space, labels=chosen), lambda found: len(found) == count)
    return sorted(found, key=lambda pod: pod["metadata"]["name"])


async def end(world: World, pod: Object, code: int) -> None:
    """Play the kubelet: the program ends with this code."""
    host = await world.host_pod(await world.nested_pod(pod, is_ready))
    over = {"running": None, "terminated": {"exitCode": code, "reason": "Over", "startedAt": START, "finishedAt": START}}
    containers = [item | {"ready": False, "state": over} for item in running_status(host)["containerStatuses"]]
    await world.report(host, phase="Failed" if code else "Succeeded", containerStatuses=containers)


async def test_its_own_success_policy_says_when_the_application_has_succeeded(world: World, sets: str) -> None:
    await say(world, {"targets": [target("JobSet", sets, "train")]})
    await told(world, is_state("Running", f"JobSet {sets}/train does not exist yet"))
    async with playing(world):
        await create(world, sets, successPolicy={"operator": "Any", "targetReplicatedJobs": ["leader"]})
        leader, *workers = await pods_of(world, sets, 3)
        for pod in workers:
            await world.nested_pod(pod, is_ready)
            host = await world.host_pod(pod)
            assert host["spec"]["hostname"].startswith("train-workers-0-")
        assert (await world.nested.get(kinds.SERVICE, "train", sets))["spec"]["clusterIP"] == "None"
        await told(world, is_state("Running", f"Waiting for JobSet {sets}/train to be Completed"))
        await end(world, leader, 0)
        await told(world, is_state("Succeeded", f"JobSet {sets}/train is Completed"))
        await pods_of(world, sets, 1)  # the workers' Job is not needed any more


async def test_it_restarts_as_its_failure_policy_says_and_then_the_application_has_failed(world: World, sets: str) -> None:
    await say(world, {"targets": [target("JobSet", sets, "train")]})
    async with playing(world):
        await create(world, sets, failurePolicy={"maxRestarts": 1})
        before = await pods_of(world, sets, 3)
        await end(world, before[-1], 1)
        after = await pods_of(world, sets, 3, attempt=1)
        await told(world, is_state("Running", f"Waiting for JobSet {sets}/train to be Completed"))
        assert not {pod["metadata"]["uid"] for pod in before} & {pod["metadata"]["uid"] for pod in after}
        await end(world, after[-1], 1)
        outcome = await told(world, is_state("Failed", f"JobSet {sets}/train has failed (ReachedMaxRestarts"))
    print(outcome["message"])


async def test_it_is_one_gang_and_after_a_restart_another_one(
    world: World, sets: str, allow: Allow, keeper: GangKeeper, virtual: str
) -> None:
    await allow(placement=RULES)
    await create(world, sets, part("leader", 1), part("workers", 2, replicas=2), failurePolicy={"maxRestarts": 1})
    pods = await pods_of(world, sets, 5)
    # 8 CPUs are room for four of them.
    found = await decided(world, keeper, lambda item: item.get("state") == "Released", f"{sets}/train-0")
    assert found["place"] == "hpc"
    for pod in pods:
        await world.schedule(await until_let_go(world, pod), virtual)
    await decided(world, keeper, lambda item: item["state"] == "Started", f"{sets}/train-0")
    for pod in pods:
        host = await world.host_pod(pod)
        await world.report(host, **running_status(host))
    await end(world, pods[0], 1)
    async with playing(world):
        again = await pods_of(world, sets, 5, attempt=1)
        found = await decided(world, keeper, lambda item: item.get("state") == "Released", f"{sets}/train-1")
    assert (found["round"], found["place"]) == (1, "hpc")
    assert {annotations_of(await world.host_pod(pod))[labels.GANG_SIZE] for pod in again} == {"5"}


async def test_of_one_that_starts_in_order_each_part_is_a_gang(world: World, sets: str, allow: Allow, keeper: GangKeeper) -> None:
    await allow(placement=HERE | {"gang": {}})
    after = {"dependsOn": [{"name": "leader", "status": "Ready"}]}
    await create(world, sets, part("leader", 1), part("workers", 2, **after))
    (leader,) = await pods_of(world, sets, 1)
    await decided(world, keeper, lambda item: item.get("state") == "Released", f"{sets}/train-0-leader")
    await world.run(await until_let_go(world, leader))
    _, *workers = await pods_of(world, sets, 3)
    await decided(world, keeper, lambda item: item.get("state") == "Released", f"{sets}/train-0-workers")
    for pod in workers:
        await until_let_go(world, pod)


async def test_one_for_each_zone_is_no_gang_as_its_pods_come_one_after_another(world: World, sets: str, allow: Allow) -> None:
    await allow(placement=HERE | {"gang": {}})
    async with playing(world):
        notes = {f"alpha.{PREFIX}/exclusive-topology": "kubernetes.io/hostname"}
        await create(world, sets, part("workers", 2), notes=notes)
        for pod in await pods_of(world, sets, 2):
            assert not is_held(await world.host_pod(pod))
            await world.nested_pod(pod, is_ready)
