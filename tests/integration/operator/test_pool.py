"""Clusters that wait for jobs: who gets one, what goes, and what an operator leaves behind that dies while it gives one away."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, labels, names
from nestor.api.names import POOLED
from nestor.api.objects import labels_of, status_of
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator import kubelet
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.test_sources import build_appdef, print_appdef
from tests.integration.operator.world import (
    READY_POD,
    Object,
    be_ready_server,
    build_class,
    build_job,
    host_namespace,
    runner_of,
    set_pod_status,
)
from tests.waiting import exists, gone, job_with, wait_for_none

Fill = Callable[..., Any]


async def fill(api: Api, name: str, size: int, former: str = "", **spec: Any) -> list[Object]:
    """A class with a pool that is full, as its status says, without one that was in it; the test plays kubelet and syncers."""
    body = build_class(name)
    body["spec"] |= {"pool": size} | spec
    await api.apply(kinds.NESTED_CLASS, body)
    served = {former}

    def is_due(item: Object) -> bool:
        pool = status_of(item).get("pool") or []
        return is_full(pool) or any(not one["ready"] and one["namespace"] not in served for one in pool)

    def is_full(pool: list[Object]) -> bool:
        return len(pool) == size and all(one["ready"] and one["namespace"] != former for one in pool)

    while not is_full(pool := status_of(await exists(api, kinds.NESTED_CLASS, name, "", is_due))["pool"]):
        for where in {one["namespace"] for one in pool if not one["ready"]} - served:
            await be_ready_server(api, POOLED, where)
            served.add(where)
    return list(pool)


@pytest.fixture
async def pool_of(api: Api, namespace: str, operator: Operator) -> AsyncIterator[Fill]:
    """`fill`, for the class `<namespace>-pool`, which is gone after the test with all that waits."""
    name = f"{namespace}-pool"

    async def make(size: int = 1, **spec: Any) -> list[Object]:
        return await fill(api, name, size, **spec)

    yield make
    await api.delete(kinds.NESTED_CLASS, name)
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.POOL)


async def order(api: Api, name: str, namespace: str, **spec: Any) -> Object:
    """A job of that class."""
    return await api.create(kinds.NESTED_APP_JOB, build_job(name, namespace, **{"className": f"{namespace}-pool"} | spec))


async def settled(api: Api, job: Object) -> Object:
    """The job, once it has a cluster, whoever made that."""
    meta = job["metadata"]

    def has_home(found: Object) -> bool:
        return {"namespace", "namespaceUID", "kubeconfigSecretName"} <= status_of(found).keys()

    return await exists(api, kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], has_home)


async def test_a_job_gets_a_cluster_that_waits_and_takes_it_along(api: Api, namespace: str, pool_of: Fill) -> None:
    (member,) = await pool_of()
    where = member["namespace"]
    server = await api.get(kinds.POD, names.server_pod(POOLED), where)
    assert await api.find(kinds.POD, "warm-run", where) is None
    job = await settled(api, await order(api, "hello", namespace))
    assert (job["status"]["namespace"], job["status"]["namespaceUID"]) == (where, member["uid"])
    await job_with(api, "hello", namespace, conditions.CLUSTER_READY, "True")
    own = labels.of_job("hello", namespace, job["metadata"]["uid"])
    assert labels.POOL not in labels_of(await api.get(kinds.NAMESPACE, where))
    made = ((kinds.NAMESPACE, where, ""), (kinds.NESTED_CLUSTER, POOLED, where), (kinds.SERVICE, "warm-k3s", where))
    for kind, name, inside in made:
        assert own.items() <= labels_of(await api.get(kind, name, inside)).items()
    assert (await api.get(kinds.POD, names.server_pod(POOLED), where))["metadata"]["uid"] == server["metadata"]["uid"]
    assert (await runner_of(api, POOLED, where))["metadata"]["labels"][labels.JOB] == "hello"
    assert status_of(await api.get(kinds.NESTED_CLUSTER, POOLED, where))["policy"], "the class decides about its pods from now on"
    assert await pool_of(former=where)
    await api.delete(kinds.NESTED_APP_JOB, "hello", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "hello", namespace)
    await gone(api, kinds.NAMESPACE, where, "")
    await wait_for_none(api, kinds.CLUSTER_ROLE_BINDING, "", labels=labels.selector(job_uid=job["metadata"]["uid"]))


async def test_of_two_jobs_one_gets_it_and_others_have_their_own(api: Api, namespace: str, pool_of: Fill) -> None:
    """So have those of another version or another class."""
    (member,) = await pool_of()
    orders = [("old", {"kubernetesVersion": "v1.35"}), ("other", {"className": "default"}), ("one", {}), ("two", {})]
    jobs = await asyncio.gather(*(order(api, name, namespace, **spec) for name, spec in orders))
    found = [item["status"]["namespace"] for item in await asyncio.gather(*(settled(api, job) for job in jobs))]
    own = [names.job_namespace(item["metadata"]["name"], namespace, item["metadata"]["uid"]) for item in jobs]
    assert found[:2] == own[:2]
    assert found[2:] in ([member["namespace"], own[3]], [own[2], member["namespace"]])


async def test_a_job_whose_appdef_was_read_first_moves_into_it(api: Api, namespace: str, pool_of: Fill, tmp_path: Path) -> None:
    (member,) = await pool_of()
    body = build_job("hello", namespace, className=f"{namespace}-pool")
    del body["spec"]["app"]["appDef"]
    job = await api.create(kinds.NESTED_APP_JOB, body)
    before = await host_namespace(api, job)
    async with kubelet.running(api, tmp_path) as logs:
        await print_appdef(api, logs, before, json.dumps(build_appdef()).encode())
        found = await settled(api, job)
    where = member["namespace"]
    assert found["status"]["namespace"] == where
    await exists(api, kinds.CONFIG_MAP, "warm-app", where)
    assert await api.find(kinds.POD, "warm-reader", where) is None, "it was read once"
    await gone(api, kinds.NAMESPACE, before, "")
    await exists(api, kinds.NAMESPACE, where, "")


@pytest.mark.slow
async def test_what_waits_follows_its_class(api: Api, namespace: str, pool_of: Fill) -> None:
    """What only looks like one of a pool goes, too: who may make such namespaces could be the admin of the next job's."""
    before = await pool_of(2)
    real = await api.get(kinds.NAMESPACE, before[0]["namespace"])
    fake = names.pool_namespace(f"{namespace}-pool", "0badc0de")
    await api.create(kinds.NAMESPACE, {"metadata": {"name": fake, "labels": labels_of(real) | {labels.JOB_UID: fake}}})
    await gone(api, kinds.NAMESPACE, fake, "")
    (after,) = await pool_of(1, former=before[0]["namespace"], cluster={"resources": {"requests": {"cpu": "30m"}}})
    await asyncio.gather(*(gone(api, kinds.NAMESPACE, item["namespace"], "") for item in before))
    await api.patch(kinds.NESTED_CLASS, f"{namespace}-pool", None, {"spec": {"pool": 0}})
    await gone(api, kinds.NAMESPACE, after["namespace"], "")


async def test_a_job_that_is_refused_once_it_has_one_is_held_to_its_limits(api: Api, namespace: str, pool_of: Fill) -> None:
    (member,) = await pool_of()
    app = {"image": "registry.example.com/app:1", "imagePullSecretName": "absent", "appDef": build_appdef()}
    await order(api, "hello", namespace, app=app, activeDeadlineSeconds=1)
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.PULL_SECRET_NOT_FOUND)
    assert job["status"]["namespace"] == member["namespace"]
    await job_with(api, "hello", namespace, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)


@pytest.mark.slow
async def test_what_a_job_from_a_pool_leaves_is_kept(api: Api, namespace: str, pool_of: Fill) -> None:
    await pool_of(storage={"classes": ["fast"], "retention": "Retain"})
    job = await settled(api, await order(api, "hello", namespace))
    where, common = job["status"]["namespace"], {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    await exists(api, kinds.NAMESPACE, where, "", lambda item: labels.RETENTION in labels_of(item))
    disk = {"capacity": {"storage": "1Gi"}, "csi": {"driver": "disks.example.org", "volumeHandle": namespace}}
    await api.create(kinds.PERSISTENT_VOLUME, {"metadata": {"name": namespace}, "spec": common | disk})
    marks = {labels.COMPONENT: labels.COMPONENT_APP, labels.CLUSTER: POOLED, labels.NESTED_UID: "n"}
    wanted = common | {"volumeName": namespace, "resources": {"requests": {"storage": "1Gi"}}}
    body = {"metadata": {"name": "data", "namespace": where, "labels": marks}, "spec": wanted}
    await api.create(kinds.PERSISTENT_VOLUME_CLAIM, body)
    await exists(api, kinds.PERSISTENT_VOLUME_CLAIM, "data", where, lambda item: item["status"]["phase"] == "Bound")
    await api.delete(kinds.NESTED_APP_JOB, "hello", namespace)
    await gone(api, kinds.NAMESPACE, where, "")
    left = await api.get(kinds.PERSISTENT_VOLUME, namespace)
    assert (left["spec"]["persistentVolumeReclaimPolicy"], labels_of(left)[labels.JOB_NAMESPACE]) == ("Retain", namespace)
    await api.delete(kinds.PERSISTENT_VOLUME, namespace)


async def test_a_pod_that_lacks_room_gets_that_of_the_pool(api: Api, namespace: str, pool_of: Fill) -> None:
    (member,) = await pool_of()
    job = await settled(api, await order(api, "big", namespace, kubernetesVersion="v1.35"))
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: 1 Insufficient cpu."}
    await set_pod_status(api, names.server_pod("big"), job["status"]["namespace"], {"phase": "Pending", "conditions": [said]})
    await gone(api, kinds.NAMESPACE, member["namespace"], "")
    await exists(api, kinds.NESTED_CLASS, f"{namespace}-pool", "", lambda item: not status_of(item).get("pool"))
    await set_pod_status(api, names.server_pod("big"), job["status"]["namespace"], READY_POD)
    assert await pool_of()


@pytest.mark.slow
@pytest.mark.parametrize("writes", range(1, 8))
async def test_an_operator_may_die_while_it_gives_one_away(
    second_plane: apiserver.ControlPlane, lonely: Api, writes: int
) -> None:
    """After each of its first writes, in whatever order they land: the claim is among them."""
    team = f"dying-{writes}"
    await lonely.create(kinds.NAMESPACE, {"metadata": {"name": team}})
    async with operator_running(second_plane) as first:
        (member,) = await fill(lonely, f"{team}-pool", 1)
        first.kill()
    job = await order(lonely, "hello", team)
    more = {"TEST_SEED": str(writes), "TEST_WRITES": str(writes)}
    async with operator_running(second_plane, mortal=True, more=more) as second:
        await second.process.wait()
    async with operator_running(second_plane):
        found = await settled(lonely, job)
        assert (found["status"]["namespace"], found["status"]["namespaceUID"]) == (member["namespace"], member["uid"])
        await job_with(lonely, "hello", team, conditions.CLUSTER_READY, "True")
        space = await lonely.get(kinds.NAMESPACE, member["namespace"])
        assert (labels_of(space)[labels.JOB_UID], labels.POOL in labels_of(space)) == (job["metadata"]["uid"], False)
        assert len(await lonely.list(kinds.NAMESPACE, labels=labels.selector(job_uid=job["metadata"]["uid"]))) == 1
        await lonely.delete(kinds.NESTED_CLASS, f"{team}-pool")
        await wait_for_none(lonely, kinds.NAMESPACE, "", labels=labels.POOL)
        await lonely.delete(kinds.NESTED_APP_JOB, "hello", team)
        await gone(lonely, kinds.NAMESPACE, member["namespace"], "")
