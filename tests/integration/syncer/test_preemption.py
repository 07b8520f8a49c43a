"""A real scheduler of the host ends pods of lower priority for those that a class gives a higher one, and for no others."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api.objects import Object, is_terminating
from nestor.kube import ApiError, Conflict, kinds
from tests.integration import apiserver
from tests.integration.syncer.pods import build_pod, condition
from tests.integration.syncer.world import World
from tests.waiting import until

SCHEDULER = "preemption"
"""Of the test's own pods: those of other tests wait for a scheduler that the tests play."""
HIGH = "preemption-high"


@pytest.fixture
async def node(world: World, control_plane: apiserver.ControlPlane) -> AsyncIterator[str]:
    """The only node on which the cluster's pods may be, and a scheduler for it. It has the processor for one of them, and a place
    for all that tests before have left: these come along, since the class allows this node to the whole cluster.
    """
    name = f"preemption-{uuid.uuid4().hex[:6]}"
    room = {"cpu": "1", "memory": "8Gi", "pods": "1000", "ephemeral-storage": "100Gi"}
    await world.host.create(kinds.NODE, {"metadata": {"name": name, "labels": {"only": name}}})
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    await world.host.patch(kinds.NODE, name, None, {"spec": {"taints": None}})
    await world.host.patch(kinds.NODE, name, None, {"status": status}, subresource="status")
    await world.host.create(kinds.PRIORITY_CLASS, {"metadata": {"name": HIGH}, "value": 5000})
    allowed = {"nodeSelector": {"only": name}, "schedulers": [SCHEDULER], "priorityClasses": {"allowed": [HIGH]}}
    await world.allow(placement=allowed)
    with control_plane.scheduling(SCHEDULER):
        yield name
    await world.allow(placement=None)
    await world.host.delete(kinds.NODE, name)
    await world.host.delete(kinds.PRIORITY_CLASS, HIGH)


async def create(world: World, space: str, name: str, **spec: Any) -> Object:
    """A nested pod that needs most of the node, once the nested API server takes it."""
    pod = build_pod(space, name, **spec)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "800m"}}

    async def taken() -> Object | None:
        try:
            return await world.nested.create(kinds.POD, pod)
        except Conflict:
            raise
        except ApiError:  # the admission's own cache does not know the class yet
            return None

    made: Object = await world.eventually(taken)
    return made


async def read(world: World, pod: Object) -> Object:
    """The host pod as it is now."""
    meta = (await world.host_pod(pod))["metadata"]
    return await world.host.get(kinds.POD, meta["name"], meta["namespace"])


async def test_a_priority_class_that_the_class_allows_preempts_and_one_of_the_tenant_s_own_does_not(
    world: World, space: str, node: str
) -> None:
    low = await create(world, space, "low")

    async def is_placed(pod: Object) -> bool:
        return bool((await read(world, pod))["spec"].get("nodeName") == node)

    await world.eventually(lambda: is_placed(low))  # the scheduler has to start first
    await world.report(await read(world, low), phase="Running")

    # One of the tenant's own, whatever its value in the nested cluster.
    own = f"own-{space}"
    await world.nested.create(kinds.PRIORITY_CLASS, {"metadata": {"name": own}, "value": 1_000_000})
    mine = await create(world, space, "mine", priorityClassName=own)
    assert mine["spec"]["priority"] == 1_000_000
    await until(lambda: read(world, mine), lambda found: condition(found, "PodScheduled").get("reason") == "Unschedulable")
    host = await read(world, mine)
    assert "priorityClassName" not in host["spec"]
    assert host["spec"]["priority"] == 0
    assert "No preemption victims found" in condition(host, "PodScheduled")["message"]
    assert not is_terminating(await read(world, low))

    async def is_told() -> bool:
        found = await world.nested.list(kinds.EVENT, space)
        texts = [item["message"] for item in found if item["involvedObject"]["name"] == "mine"]
        return any("`placement.priorityClasses`" in text for text in texts)

    await world.eventually(is_told)
    await world.nested.delete(kinds.POD, "mine", space)

    # The one that the class allows.
    high = await create(world, space, "high", priorityClassName=HIGH)
    assert (await read(world, high))["spec"]["priority"] == 5000
    victim = await until(lambda: read(world, low), is_terminating)
    assert condition(victim, "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    ending = await world.nested_pod(low, is_terminating)
    assert condition(ending, "DisruptionTarget")["reason"] == "PreemptionByScheduler"
    await world.finish(victim)
    await world.gone(world.nested, kinds.POD, low)
    await world.eventually(lambda: is_placed(high))
    await world.nested.delete(kinds.POD, "high", space)
    await world.finish(await read(world, high))
    await world.nested.delete(kinds.PRIORITY_CLASS, own)
