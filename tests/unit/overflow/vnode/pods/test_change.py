"""Changes of host pods reach their pods at the backend: labels, images, debug containers, resources."""

import pytest

from nestor.api.objects import Object
from nestor.overflow.vnode.pods import change, writer
from nestor.pods.providers.errors import NotYet, Unreachable
from tests.fakes.backend import MemoryUpdates
from tests.unit.overflow.vnode.world import World, living

DEBUG: Object = {"name": "debug", "image": "example/debug:1", "targetContainerName": "app"}
LARGE: Object = {"requests": {"cpu": "200m"}}


@pytest.fixture
def updates(world: World) -> MemoryUpdates:
    world.backend.updates = made = MemoryUpdates(world.backend)
    return made


def resize(world: World) -> None:
    world.edit("web", spec={"containers": [{"name": "app", "image": "example/web:1", "resources": LARGE}]})


async def is_calm(world: World) -> bool:
    """Whether another look at all pods sends nothing."""
    await world.settle()
    asked = world.backend.count("update")
    world.pods.look_at_all()
    await world.settle()
    return world.backend.count("update") == asked


@pytest.mark.usefixtures("updates")
async def test_changes_reach_the_backend_and_are_not_sent_again(world: World) -> None:
    uid = await world.run()
    assert await is_calm(world)
    assert world.backend.count("update") == 0
    world.edit("web", metadata={"labels": {"tier": "front"}})
    await world.until(lambda: world.backend.pods[uid]["metadata"].get("labels") == {"tier": "front"})
    world.edit("web", spec={"ephemeralContainers": [DEBUG]})
    await world.until(lambda: world.backend.pods[uid]["spec"].get("ephemeralContainers") == [DEBUG])
    resize(world)
    await world.until(lambda: world.backend.pods[uid]["spec"]["containers"][0].get("resources") == LARGE)
    assert await is_calm(world)
    assert "PodUpdateRefused" not in world.events


@pytest.mark.usefixtures("updates")
async def test_changes_that_were_made_while_nobody_looked_are_carried(world: World) -> None:
    uid = await world.run()
    await world.stop()
    world.edit("web", metadata={"labels": {"tier": "front"}}, spec={"ephemeralContainers": [DEBUG]})
    await world.start()
    await world.until(lambda: world.backend.pods[uid]["spec"].get("ephemeralContainers") == [DEBUG])
    assert world.backend.pods[uid]["metadata"]["labels"] == {"tier": "front"}
    assert world.backend.starts == {uid: 1}


async def test_a_change_that_is_refused_is_told_once_and_tried_again(
    world: World, updates: MemoryUpdates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change, "RETRY_SECONDS", 0.05)
    uid = await world.run()
    updates.refuse = lambda _: ["exceeded quota: cpu", "no debug containers here"]
    resize(world)
    await world.until(lambda: "PodUpdateRefused" in world.events)
    assert world.message("PodUpdateRefused") == "exceeded quota: cpu; no debug containers here"
    asked = world.backend.count("update")
    await world.until(lambda: world.backend.count("update") > asked + 2)
    assert world.events.count("PodUpdateRefused") == 1
    updates.refuse = lambda _: []
    await world.until(lambda: world.backend.pods[uid]["spec"]["containers"][0].get("resources") == LARGE)
    updates.refuse = lambda _: ["not allowed"]  # it is over: another one is news, though not before some time
    world.edit("web", metadata={"labels": {"tier": "front"}})
    asked = world.backend.count("update")
    await world.until(lambda: world.backend.count("update") > asked + 2)
    assert world.events.count("PodUpdateRefused") == 1
    monkeypatch.setattr(writer, "TELL_SECONDS", 0.0)
    await world.until(lambda: world.events.count("PodUpdateRefused") == 2)
    assert world.message("PodUpdateRefused") == "not allowed"


@pytest.mark.usefixtures("updates")
async def test_of_very_many_debug_containers_none_is_sent(world: World) -> None:
    await world.run()
    long = {"env": [{"name": "X", "value": "x" * 200}]}
    many = [DEBUG | long | {"name": f"debug-{number}"} for number in range(51)]
    world.edit("web", spec={"ephemeralContainers": many})
    await world.until(lambda: "PodUpdateRefused" in world.events)
    assert "at most 50" in world.message("PodUpdateRefused")
    assert world.backend.count("update") == 0


@pytest.mark.usefixtures("updates")
@pytest.mark.parametrize("error", [NotYet("a conflict"), Unreachable("connection reset")])
async def test_a_change_survives_a_glitch(world: World, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(change, "_NOT_YET_SECONDS", 0.05)
    uid = await world.run()
    faults = [error, error]
    world.backend.fault = lambda call, _: faults.pop() if call == "update" and faults else None
    world.edit("web", metadata={"labels": {"tier": "front"}})
    await world.until(lambda: world.backend.pods[uid]["metadata"].get("labels") == {"tier": "front"})
    assert not faults
    assert "PodUpdateRefused" not in world.events


async def test_at_a_backend_that_cannot_change_pods_the_owner_is_told() -> None:
    async with living() as world:
        await world.run()
        world.edit("web", metadata={"labels": {"tier": "front"}})
        await world.settle()
        assert "PodUpdateRefused" not in world.events
        world.edit("web", spec={"ephemeralContainers": [DEBUG]})
        await world.until(lambda: "PodUpdateRefused" in world.events)
        assert world.message("PodUpdateRefused") == "Backend 'far' cannot change pods that run there: the pod stays unchanged"


@pytest.mark.usefixtures("updates")
async def test_a_large_pod_is_read_anew_before_it_is_sent(world: World) -> None:
    uid = await world.run()
    long = {"tier": "front", "long": "y" * 10_000}
    world.edit("web", metadata={"labels": long})
    await world.until(lambda: world.backend.pods[uid]["metadata"].get("labels") == long)
    resize(world)
    await world.until(lambda: world.backend.pods[uid]["spec"]["containers"][0].get("resources") == LARGE)
    assert world.backend.pods[uid]["metadata"]["labels"] == long
    assert await is_calm(world)


async def test_a_pod_that_grows_is_no_changed_one() -> None:
    async with living() as world:
        await world.run()
        long = {"type": "example.com/told", "status": "True", "message": "x" * 10_000}
        there = await world.phase("web", "Running")
        world.edit("web", status={"conditions": [*there["conditions"], long]})
        await world.settle()
        assert "PodUpdateRefused" not in world.events
