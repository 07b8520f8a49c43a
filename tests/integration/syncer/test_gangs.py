"""Gangs before real API servers: these let a pod's gates only be removed, and its node affinity only be narrowed.

The operator's part is played by its own keeper, with what it writes and reads for real.
"""

import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import yaml

from devcluster.build import components, gobuild
from nestor.api import labels
from nestor.api.objects import Object, annotations_of, status_of
from nestor.kube import kinds
from nestor.operator.guests.gangs import decide
from nestor.operator.guests.gangs.keeper import GangKeeper
from nestor.syncer.pods import sync
from nestor.syncer.pods.gangs import POD_GROUPS
from tests.integration import apiserver
from tests.integration.controllers import define
from tests.integration.syncer.gangs import RULES, decided, is_held, until_let_go
from tests.integration.syncer.pods import build_pod, condition
from tests.integration.syncer.world import CLUSTER, World
from tests.waiting import until

Allow = Callable[[Object], Awaitable[None]]

COSCHEDULING: Object = {
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    },
    "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 2}}],
}
LARGE: Object = {"resources": {"requests": {"cpu": "3"}}}


@pytest.fixture
async def allow(world: World) -> AsyncIterator[Allow]:
    """Sets the rules, as the operator does; there are none afterwards."""

    async def write(placement: Object | None) -> None:
        status = {"status": {"policy": {"placement": placement}, "gangs": None}}
        await world.tell(status)

    yield write
    for pod in await world.nested.list(kinds.POD):
        if labels.GANG in annotations_of(pod):
            meta = pod["metadata"]
            await world.nested.delete(kinds.POD, meta["name"], meta["namespace"], grace_seconds=0)
    for host in await world.host.list(kinds.POD, world.namespace):
        if annotations_of(host).get(labels.NESTED_NAME, "").startswith("train-"):
            await world.finish(host)
            await world.gone(world.host, kinds.POD, host)
    await write(None)


async def start(
    world: World, space: str, count: int, *, size: int = 3, first: int = 0, own: Object | None = None, **container: Any
) -> list[Object]:
    """Nested pods of one gang. `own`: more labels."""
    notes = {"nestor.dev/gang": "train", "nestor.dev/gang-size": str(size)}
    made = []
    for number in range(first, first + count):
        pod = build_pod(space, f"train-{number}", container=container or LARGE)
        pod["metadata"]["annotations"] = notes
        pod["metadata"]["labels"] |= own or {}
        made.append(await world.nested.create(kinds.POD, pod))
    return made


async def counted(world: World, place: Object) -> None:
    """Until the status counts the pods of one place like this. Pods of other tests are still in others."""

    async def is_so() -> bool:
        cluster = await world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace)
        told = status_of(cluster).get("pods", {}).get("places") or []
        return place in [{key: item[key] for key in item if key != "reason"} for item in told]

    await world.eventually(is_so)


async def staying(world: World, pod: Object, seconds: int) -> None:
    """Until the host pod stays for so long on a node that is lost."""

    async def is_so() -> bool:
        found = (await world.host_pod(pod))["spec"]["tolerations"]
        lost = [item for item in found if item["key"].startswith("node.kubernetes.io/")]
        return [item["tolerationSeconds"] for item in lost] == [seconds] * 2

    await world.eventually(is_so)


async def test_a_gang_that_does_not_fit_the_host_goes_out_whole(
    world: World, space: str, allow: Allow, keeper: GangKeeper, virtual: str
) -> None:
    await allow(RULES)
    pods = await start(world, space, 2)
    first, _ = [await world.host_pod(pod) for pod in pods]
    assert is_held(first)
    assert condition(first, "PodScheduled")["reason"] == "SchedulingGated"
    waiting = await decided(world, keeper, bool)
    assert waiting["message"] == f"only 2 of the 3 pods of gang '{space}/train' exist"
    told = await world.nested_pod(pods[0], lambda pod: "only 2 of the 3" in condition(pod, "PodScheduled").get("message", ""))
    assert condition(told, "PodScheduled")["reason"] == "GangWaiting"

    # The node has 8 CPUs, which is room for two of them.
    pods += await start(world, space, 1, first=2)
    found = await decided(world, keeper, lambda item: item["state"] == "Released")
    assert (found["place"], found["round"]) == ("hpc", 1)
    hosts = [await until_let_go(world, pod) for pod in pods]
    for host in hosts:
        required = host["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        away = {"key": labels.BACKEND, "operator": "In", "values": ["hpc"]}
        assert [term["matchExpressions"][-1] for term in required["nodeSelectorTerms"]] == [away] * 2
        assert annotations_of(host)[labels.GANG_ROUND] == "1"
    for host in hosts:
        await world.schedule(host, virtual)
    assert (await decided(world, keeper, lambda item: item["state"] == "Started"))["place"] == "hpc"
    await counted(world, {"name": "hpc", "running": 0, "starting": 3})
    for pod in pods:
        await staying(world, pod, 3600)
    # A pod that joins them goes where they are.
    (late,) = await start(world, space, 1, first=3)
    assert annotations_of(await until_let_go(world, late))[labels.GANG_ROUND] == "1"


async def test_a_gang_that_fits_nowhere_starts_nothing_and_says_why(
    world: World, space: str, allow: Allow, keeper: GangKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "WARNING_SECONDS", 1)
    await allow(RULES)
    pods = await start(world, space, 3)
    for pod in pods:
        await world.host_pod(pod)
    found = await decided(world, keeper, lambda item: "no place" in item.get("message", ""))
    assert found["state"] == "Waiting"
    expected = f"no place has room for all 3 pods of gang '{space}/train': the host cluster for 2, backend 'hpc' for 0"
    assert found["message"] == expected
    for pod in pods:
        await world.nested_pod(pod, lambda item: condition(item, "PodScheduled").get("message") == expected)
        assert is_held(await world.host_pod(pod))
    await until(
        lambda: world.nested.list(kinds.EVENT, space),
        lambda events: len([item for item in events if item["reason"] == "GangWaiting"]) == 3,
    )


@pytest.mark.slow
async def test_a_gang_of_which_not_all_get_nodes_is_taken_back_whole(
    world: World, space: str, allow: Allow, keeper: GangKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "START_SECONDS", 10)
    await allow(RULES)
    small: Object = {"resources": {"requests": {"cpu": "1"}}}
    pods = await start(world, space, 2, size=2, **small)
    for pod in pods:
        await world.host_pod(pod)
    await decided(world, keeper, lambda item: item.get("state") == "Released")
    first, second = [await until_let_go(world, pod) for pod in pods]
    await world.run(first)
    # The other one gets no node, and time runs out.
    found = await decided(world, keeper, lambda item: item["state"] == "Waiting")
    assert found["round"] == 2
    assert found["retryTime"]
    failed = await world.nested_pod(pods[0], lambda pod: status_of(pod).get("phase") == "Failed")
    assert status_of(failed)["reason"] == "GangTakenBack"
    assert condition(failed, "DisruptionTarget")["status"] == "True"
    await until(lambda: world.host_pod(pods[1]), lambda now: is_held(now) and now["metadata"]["uid"] != second["metadata"]["uid"])


@contextlib.asynccontextmanager
async def scheduling(world: World, plane: apiserver.ControlPlane, *more: Any) -> AsyncIterator[str]:
    """A scheduler of the host, for the pods that name it. The name is that of a node with two CPUs, too."""
    name = f"gangs-{uuid.uuid4().hex[:6]}"
    await world.host.create(kinds.NODE, {"metadata": {"name": name, "labels": {"only": name}}})
    await world.host.patch(kinds.NODE, name, None, {"spec": {"taints": None}})
    await have_room(world, name, 2)
    with plane.scheduling(name, *more):
        yield name
    await world.host.delete(kinds.NODE, name)


@pytest.fixture
async def scheduler(world: World, control_plane: apiserver.ControlPlane) -> AsyncIterator[str]:
    """Kubernetes' own."""
    async with scheduling(world, control_plane) as name:
        yield name


@pytest.fixture
async def coscheduler(world: World, control_plane: apiserver.ControlPlane) -> AsyncIterator[str]:
    """That of scheduler-plugins, with gangs of its own."""
    source = gobuild.module_folder(components.SECOND_SCHEDULER, components.SCHEDULER_PLUGINS)
    await define(world.host, yaml.safe_load((source / "manifests/coscheduling/crd.yaml").read_text()))
    async with scheduling(world, control_plane, COSCHEDULING, "scheduler-plugins") as name:
        print(f"{source.name} runs")
        yield name


async def have_room(world: World, node: str, cpus: int) -> None:
    """The node has so many CPUs."""
    room = {"cpu": str(cpus), "memory": "8Gi", "pods": "100", "ephemeral-storage": "100Gi"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    await world.host.patch(kinds.NODE, node, None, {"status": status}, subresource="status")


@pytest.mark.slow
async def test_the_host_s_own_scheduler_starts_a_gang_as_a_whole(world: World, space: str, allow: Allow, scheduler: str) -> None:
    rules = {"gang": {"scheduler": "Kubernetes"}, "nodeSelector": {"only": scheduler}, "schedulers": [scheduler]}
    await allow(rules)
    pods = await start(world, space, 3, resources={"requests": {"cpu": "1"}})
    for pod in pods:
        await world.nested_pod(pod, lambda item: condition(item, "PodScheduled").get("reason") == "Unschedulable")
    hosts = [await world.host_pod(pod) for pod in pods]
    assert not [host for host in hosts if host["spec"].get("nodeName")], "there is room for two"
    await have_room(world, scheduler, 3)
    await until_placed(world, pods)
    (name,) = {host["spec"]["schedulingGroup"]["podGroupName"] for host in hosts}
    group = await world.host.get(POD_GROUPS[-1], name, world.namespace)
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


async def until_placed(world: World, pods: list[Object]) -> None:
    """Until all of them have nodes."""
    for pod in pods:
        await world.nested_pod(pod, lambda item: bool(item["spec"].get("nodeName")))


@pytest.mark.slow
@pytest.mark.timeout(900)  # builds the scheduler, if `make test-full` has not
async def test_a_gang_of_ours_gets_its_nodes_from_the_scheduler_that_the_class_names(
    world: World, space: str, allow: Allow, keeper: GangKeeper, coscheduler: str
) -> None:
    await allow({"gang": {}, "nodeSelector": {"only": coscheduler}, "schedulers": [coscheduler]})
    # For a group of its own it would wait for ever, but tenants have no say in what is a group in the host.
    group = {"scheduling.x-k8s.io/pod-group": "train"}
    pods = await start(world, space, 3, own=group, resources={"requests": {"cpu": "1"}})
    for pod in pods:
        assert is_held(await world.host_pod(pod))
    found = await decided(world, keeper, lambda item: "no place has room" in item.get("message", ""))
    assert "the host cluster for 2" in found["message"]
    await have_room(world, coscheduler, 3)
    await decided(world, keeper, lambda item: item["state"] == "Released")
    await until_placed(world, pods)
    assert {(await world.host_pod(pod))["spec"]["schedulerName"] for pod in pods} == {coscheduler}
