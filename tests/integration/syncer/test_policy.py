"""What a class allows is read live: the operator writes it into the NestedCluster's status, which the test plays."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod, condition, start
from tests.integration.syncer.test_config import config_map, host_data
from tests.integration.syncer.world import World
from tests.waiting import until

PRIVILEGED = {"securityContext": {"privileged": True}}


@pytest.fixture
async def allow(world: World) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Sets the level in the policy, and in the host namespace, as the operator does; strict again afterwards."""

    async def write(level: str) -> None:
        enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level.lower()}}}
        await world.host.patch(kinds.NAMESPACE, world.namespace, None, enforced)
        status = {"status": {"policy": {"podSecurity": level}}}
        await world.tell(status)

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
    await world.heard()
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
    await world.heard()
    assert await world.host.find(kinds.POD, names.host_name("late", space), world.namespace) is None

    await world.nested.patch(kinds.CONFIG_MAP, "settings", space, {"data": {"color": "blue"}})
    await until(lambda: host_data(world, kinds.CONFIG_MAP, space, "settings"), lambda found: found == {"color": "blue"})
    now = await world.host.get(kinds.POD, host["metadata"]["name"], world.namespace)
    assert now["metadata"]["uid"] == host["metadata"]["uid"]
    assert not now["metadata"].get("deletionTimestamp")
    events = await world.nested.list(kinds.EVENT, space, fields=f"involvedObject.uid={nested['metadata']['uid']}")
    assert not [item["message"] for item in events if item["reason"] in ("PodRefused", "PodUpdateRefused")]


@pytest.fixture
async def list_images(world: World) -> AsyncIterator[Callable[[list[str] | None], Awaitable[None]]]:
    """Sets the images that the class allows; all again afterwards."""

    async def write(allowed: list[str] | None) -> None:
        status = {"status": {"policy": {"allowedImages": allowed}}}
        await world.tell(status)

    yield write
    await write(None)


async def test_pods_use_only_images_that_the_class_allows_and_say_so(
    world: World, space: str, list_images: Callable[[list[str] | None], Awaitable[None]]
) -> None:
    nested, host = await start(world, build_pod(space, "early", container={"image": "example/web:1"}))
    await list_images(["ghcr.io"])
    late = await world.nested.create(kinds.POD, build_pod(space, "late", container={"image": "example/web:1"}))
    why = condition(await refused(world, late), "PodScheduled")["message"]
    said = "`spec.containers[0].image` '{}' ('docker.io/{}') is not allowed; allowed: ghcr.io (`images.allowed`)"
    assert why == said.format("example/web:1", "example/web:1")

    # What runs goes on, and keeps its image.
    change = {"spec": {"containers": [{"name": "app", "image": "example/web:2"}]}}
    await world.nested.patch(kinds.POD, "early", space, change, how="strategic")

    async def is_told() -> bool:
        events = await world.nested.list(kinds.EVENT, space, fields=f"involvedObject.uid={nested['metadata']['uid']}")
        return said.format("example/web:2", "example/web:2") in [item["message"] for item in events]

    await world.eventually(is_told)
    now = await world.host.get(kinds.POD, host["metadata"]["name"], world.namespace)
    assert (now["metadata"]["uid"], now["spec"]["containers"][0]["image"]) == (host["metadata"]["uid"], "example/web:1")

    await list_images(["ghcr.io", "docker.io/example"])
    # By the names that were compared; the nested pod has what its user wrote.
    assert (await world.host_pod(late))["spec"]["containers"][0]["image"] == "docker.io/example/web:1"
    seen = await world.nested.get(kinds.POD, "late", space)
    assert seen["spec"]["containers"][0]["image"] == "example/web:1"
    await world.nested.patch(kinds.POD, "early", space, {"metadata": {"labels": {"again": "yes"}}})
    await until(
        lambda: world.host.get(kinds.POD, host["metadata"]["name"], world.namespace),
        lambda found: found["spec"]["containers"][0]["image"] == "docker.io/example/web:2",
    )
