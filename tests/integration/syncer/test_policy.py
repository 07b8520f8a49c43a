"""What a class allows is read live: the operator writes it into the NestedCluster's status, which the test plays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from nestor import names
from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod, condition, start
from tests.integration.syncer.test_config import config_map, host_data
from tests.integration.syncer.world import CLUSTER, World

Object = dict[str, Any]

PRIVILEGED = {"securityContext": {"privileged": True}}


@pytest.fixture
async def allow(world: World) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Sets the level in the policy, and in the host namespace, as the operator does; strict again afterwards."""

    async def write(level: str) -> None:
        enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level.lower()}}}
        await world.host.patch(kinds.NAMESPACE, world.namespace, None, enforced)
        status = {"status": {"policy": {"podSecurity": level}}}
        await world.host.patch(kinds.NESTED_CLUSTER, CLUSTER, world.namespace, status, subresource="status")

    yield write
    await write("Baseline")


def privileged_pod(space: str, name: str) -> Object:
    """It needs a ConfigMap, too."""
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
    return build_pod(space, name, container=PRIVILEGED, volumes=volumes)


async def refused(world: World, pod: Object) -> Object:
    """The pod, once it is told why it does not run."""
    return await world.nested_pod(pod, lambda found: condition(found, "PodScheduled").get("reason") == "PodRefused")


async def test_a_privileged_pod_runs_once_its_class_allows_it(
    world: World, space: str, allow: Callable[[str], Awaitable[None]]
) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    nested = await world.nested.create(kinds.POD, privileged_pod(space, "early"))
    why = condition(await refused(world, nested), "PodScheduled")["message"]
    assert why == "`spec.containers[0].securityContext.privileged` may not be true"
    assert await host_data(world, kinds.CONFIG_MAP, space, "settings") is None

    await allow("Privileged")
    host = await world.host_pod(nested)
    assert host["spec"]["containers"][0]["securityContext"]["privileged"] is True
    assert await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "red"}


async def test_what_runs_goes_on_when_its_class_comes_to_allow_less(
    world: World, space: str, allow: Callable[[str], Awaitable[None]]
) -> None:
    await world.nested.create(kinds.CONFIG_MAP, config_map(space, "settings", color="red"))
    await allow("Privileged")
    nested, host = await start(world, privileged_pod(space, "early"))

    await allow("Baseline")
    late = await world.nested.create(kinds.POD, privileged_pod(space, "late"))
    await refused(world, late)
    assert await world.host.find(kinds.POD, names.host_name("late", space), world.namespace) is None

    await world.nested.patch(kinds.CONFIG_MAP, "settings", space, {"data": {"color": "blue"}})

    async def followed() -> bool:
        return await host_data(world, kinds.CONFIG_MAP, space, "settings") == {"color": "blue"}

    await world.eventually(followed)
    now = await world.host.get(kinds.POD, host["metadata"]["name"], world.namespace)
    assert now["metadata"]["uid"] == host["metadata"]["uid"]
    assert not now["metadata"].get("deletionTimestamp")
    events = await world.nested.list(kinds.EVENT, space, fields=f"involvedObject.uid={nested['metadata']['uid']}")
    assert not [item["message"] for item in events if item["reason"] in ("PodRefused", "PodUpdateRefused")]
