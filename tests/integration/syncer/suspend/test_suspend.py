"""Suspend and resume, with the nested cluster's real controllers; the host's scheduler and kubelet are played."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Informer, Kind, kinds
from nestor.syncer.suspend import evict
from tests.integration.syncer.player import Player
from tests.integration.syncer.pods import build_pod, condition, is_ready
from tests.integration.syncer.world import CLUSTER, World
from tests.waiting import until


async def suspend(world: World, wanted: bool = True) -> None:
    """What the operator does."""
    await world.host.patch(kinds.NESTED_CLUSTER, CLUSTER, world.namespace, {"spec": {"suspend": wanted}})


async def at_rest(world: World, wanted: bool = True) -> None:
    """Await what the syncer says about it."""
    await until(
        lambda: world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace),
        lambda found: found["status"].get("suspended") is wanted,
    )


async def pods_of(world: World, space: str, app: str, check: Callable[[Object], bool], count: int = 1) -> list[Object]:
    """The pods with that label, once there are so many and all are as they should be."""

    async def look() -> list[Object]:
        found = await world.nested.list(kinds.POD, space, labels=f"app={app}")
        return found if len(found) == count and all(map(check, found)) else []

    return await world.eventually(look)


def waits(pod: Object) -> bool:
    """Held, on no node, and told so."""
    found = condition(pod, "PodScheduled")
    told = (found.get("status"), found.get("reason")) == ("False", "Suspended")
    return told and not pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending"


def workload(kind: Kind, space: str, name: str, **spec: Any) -> Object:
    """A Deployment, StatefulSet or Job of one pod."""
    template = {"metadata": {"labels": {"app": name}}, "spec": build_pod(space)["spec"] | spec.pop("pod", {})}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, "namespace": space},
        "spec": {"template": template, **spec},
    }


def selected(name: str) -> Object:
    """What Deployments and StatefulSets need besides."""
    return {"selector": {"matchLabels": {"app": name}}}


@pytest.mark.slow
async def test_pods_with_a_controller_end_and_their_successors_wait(world: World, space: str, player: Player) -> None:
    await world.nested.create(kinds.DEPLOYMENT, workload(kinds.DEPLOYMENT, space, "web", replicas=2, **selected("web")))
    before = await pods_of(world, space, "web", is_ready, count=2)
    player.may_end.clear()
    await suspend(world)
    for pod in before:
        ending = await world.nested_pod(pod, lambda found: bool(found["metadata"].get("deletionTimestamp")))
        assert ending["metadata"]["deletionGracePeriodSeconds"] == 30
    await at_rest(world, False)
    made = set(player.made)
    player.end_all()
    await pods_of(world, space, "web", waits, count=2)
    await at_rest(world)
    assert player.made == made
    await suspend(world, False)
    await at_rest(world, False)
    await pods_of(world, space, "web", is_ready, count=2)


async def test_pods_rest_and_come_back_as_they_were(world: World, space: str, player: Player) -> None:
    """With and without a controller. What has finished stays, what is created meanwhile waits, what its owner deletes is gone."""
    service = {"metadata": {"name": "web", "namespace": space}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    await world.nested.create(kinds.SERVICE, service)
    served = await world.host_object(kinds.SERVICE, "web", space)
    bare = build_pod(space, terminationGracePeriodSeconds=3, container={"env": [{"name": "A", "value": "b"}]})
    bare["metadata"]["annotations"] = {"example.org/note": "mine"}
    for body in (bare, build_pod(space, "unwanted"), build_pod(space, "finished", restartPolicy="Never")):
        await world.nested.create(kinds.POD, body)
    config = {"metadata": {"name": "config", "namespace": space}, "data": {"key": "value"}}
    await world.nested.create(kinds.CONFIG_MAP, config)
    volumes = {"volumes": [{"name": "config", "configMap": {"name": "config"}}]}
    database = workload(kinds.STATEFUL_SET, space, "db", serviceName="db", pod=volumes, **selected("db"))
    await world.nested.create(kinds.STATEFUL_SET, database)
    (first,), (finished,) = [await pods_of(world, space, app, is_ready) for app in ("web", "finished")]
    for app in ("unwanted", "db"):
        await pods_of(world, space, app, is_ready)
    ended = await world.host_pod(finished)
    await world.report(ended, phase="Succeeded")
    await world.nested_pod(finished, lambda pod: pod["status"]["phase"] == "Succeeded")

    await suspend(world)
    (waiting,), (database,), (unwanted,) = [await pods_of(world, space, app, waits) for app in ("web", "db", "unwanted")]
    assert waiting["metadata"]["uid"] != first["metadata"]["uid"]
    assert waiting["metadata"]["annotations"] == {"example.org/note": "mine"}
    assert waiting["spec"] | {"nodeName": first["spec"]["nodeName"]} == first["spec"]
    assert database["metadata"]["name"] == "db-0"
    late = await world.nested.create(kinds.POD, build_pod(space, "late"))
    held = await world.nested_pod(late, waits)
    assert "suspended" in condition(held, "PodScheduled")["message"]
    await world.nested.delete(kinds.POD, "unwanted", space)
    await world.gone(world.nested, kinds.POD, unwanted)
    await at_rest(world)
    for api, pod in ((world.host, ended), (world.nested, finished)):
        meta = pod["metadata"]
        assert (await api.get(kinds.POD, meta["name"], meta["namespace"]))["metadata"]["uid"] == meta["uid"]
    assert (await world.host_object(kinds.SERVICE, "web", space))["metadata"]["uid"] == served["metadata"]["uid"]

    await suspend(world, False)
    await at_rest(world, False)
    (database,), *_ = [await pods_of(world, space, app, is_ready) for app in ("db", "web", "late")]
    host = await world.host_pod(database)
    name = next(item["configMap"]["name"] for item in host["spec"]["volumes"] if "configMap" in item)
    assert (await world.host.get(kinds.CONFIG_MAP, name, world.namespace))["data"] == {"key": "value"}
    assert [item for item in await world.nested.list(kinds.CONFIG_MAP, evict.NAMESPACE) if evict.remembered_uid(item)] == []
    assert await world.nested.list(kinds.POD, space, labels="app=unwanted") == []


async def test_jobs_are_suspended_and_their_end_is_no_failure(world: World, space: str, player: Player) -> None:
    """And CronJobs make none meanwhile."""
    never = {"restartPolicy": "Never"}
    await world.nested.create(kinds.JOB, workload(kinds.JOB, space, "own", backoffLimit=0, pod=never, suspend=True))
    train = workload(kinds.JOB, space, "train", backoffLimit=0, pod=never)
    await world.nested.create(kinds.JOB, train)
    nightly = workload(kinds.CRON_JOB, space, "nightly")
    nightly["spec"] = {"schedule": "0 3 1 1 *", "jobTemplate": {"spec": train["spec"]}}
    await world.nested.create(kinds.CRON_JOB, nightly)
    await pods_of(world, space, "train", is_ready)

    async def are_suspended(wanted: bool) -> bool:
        found = [await world.nested.get(kind, name, space) for kind, name in ((kinds.JOB, "train"), (kinds.CRON_JOB, "nightly"))]
        return [item["spec"]["suspend"] for item in found] == [wanted] * 2

    await suspend(world)
    await at_rest(world)
    await world.eventually(lambda: are_suspended(True))
    job = await world.nested.get(kinds.JOB, "train", space)
    assert job["metadata"]["annotations"]["nestor.dev/suspended-by"] == "nestor"
    await suspend(world, False)
    await world.eventually(lambda: are_suspended(False))
    await pods_of(world, space, "train", is_ready)
    job = await world.nested.get(kinds.JOB, "train", space)
    assert "nestor.dev/suspended-by" not in job["metadata"].get("annotations", {})
    assert job["status"].get("failed", 0) == 0
    assert (await world.nested.get(kinds.JOB, "own", space))["spec"]["suspend"] is True


async def test_a_syncer_that_ends_in_the_middle_loses_no_pod(world: World, space: str, player: Player) -> None:
    first = await world.nested_pod(await world.nested.create(kinds.POD, build_pod(space)), is_ready)
    player.may_end.clear()
    await suspend(world)
    await world.nested_pod(first, lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
    await world.stop()
    await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)  # gone while nobody looks
    player.end_all()
    await world.start()
    await pods_of(world, space, "web", waits)
    await at_rest(world)
    await world.stop()
    await suspend(world, False)
    await world.start()
    await pods_of(world, space, "web", is_ready)


async def test_a_resume_in_the_middle_brings_the_pod_back(world: World, space: str, player: Player) -> None:
    first = await world.nested_pod(await world.nested.create(kinds.POD, build_pod(space)), is_ready)
    player.may_end.clear()
    await suspend(world)
    await world.nested_pod(first, lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
    await suspend(world, False)
    player.end_all()
    await pods_of(world, space, "web", lambda pod: is_ready(pod) and pod["metadata"]["uid"] != first["metadata"]["uid"])


async def test_restarts_on_the_way_to_and_fro_lose_nothing(world: World, space: str, player: Player) -> None:
    for name in ("one", "two", "three"):
        await world.nested.create(kinds.POD, build_pod(space, name))
    job = workload(kinds.JOB, space, "train", backoffLimit=0, pod={"restartPolicy": "Never"})
    await world.nested.create(kinds.JOB, job)
    for wanted in [True, False, True, True, False, False]:
        await suspend(world, wanted)
        await world.stop()
        await world.start()
    for app in ("one", "two", "three", "train"):
        await pods_of(world, space, app, is_ready)
    assert (await world.nested.get(kinds.JOB, "train", space))["status"].get("failed", 0) == 0


async def test_to_rest_is_no_outcome(world: World, space: str, player: Player) -> None:
    """A bare pod that is ended by the suspend has neither failed nor succeeded, though its status says so for a moment."""
    policy = {"targets": [{"kind": "Pod", "name": "web", "namespace": space}]}
    states = Informer(world.host, kinds.NESTED_CLUSTER, world.namespace)
    seen: list[str] = []
    states.on_change(lambda change: seen.append(change.latest.get("status", {}).get("outcome", {}).get("state", "None")))
    task = asyncio.create_task(states.run())
    await world.host.patch(kinds.NESTED_CLUSTER, CLUSTER, world.namespace, {"spec": {"successPolicy": policy}})
    nested = await world.nested.create(kinds.POD, build_pod(space, restartPolicy="Never"))
    await world.nested_pod(nested, is_ready)
    player.may_end.clear()
    await suspend(world)
    host = await world.host_pod(nested)
    await world.nested_pod(nested, lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
    await world.report(host, phase="Succeeded")  # it ends well when it is asked to
    player.end_all()
    await pods_of(world, space, "web", waits)
    await at_rest(world)
    await suspend(world, False)
    (again,) = await pods_of(world, space, "web", is_ready)
    await world.report(await world.host_pod(again), phase="Succeeded")

    async def is_done() -> bool:
        return seen[-1] == "Succeeded"

    await world.eventually(is_done)
    task.cancel()
    assert set(seen[: seen.index("Succeeded")]) <= {"None", "Running"}
    finished = await world.nested.get(kinds.POD, "web", space)
    assert finished["metadata"]["uid"] == again["metadata"]["uid"]
    await world.host.patch(kinds.NESTED_CLUSTER, CLUSTER, world.namespace, {"spec": {"successPolicy": None}})
