"""Changes of host pods reach their pods at the backend: labels, images, debug containers, resources."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from nestor.kube import kinds
from nestor.overflow.vnode.pods import change
from nestor.overflow.vnode.pods.change import build_patches
from nestor.pods.providers.errors import InvalidInput, NotYet, Unreachable
from tests.fakes.backend import MemoryPatches
from tests.unit.overflow.vnode.world import World, living

Object = dict[str, Any]

DEBUG: Object = {"name": "debug", "image": "example/debug:1", "targetContainerName": "app"}
SMALL: Object = {"requests": {"cpu": "100m"}}
LARGE: Object = {"requests": {"cpu": "200m"}}


def build_pod(**spec: Any) -> Object:
    meta = {"name": "web", "namespace": "shop", "uid": "u", "labels": {"app": "web"}}
    containers = [{"name": "app", "image": "example/web:1", "resources": SMALL}, {"name": "side", "image": "example/side:1"}]
    return {"metadata": meta, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("spec", "tolerations"), [{"operator": "Exists"}], []),
        (
            ("spec", "containers", 0, "image"),
            "example/web:2",
            [("", {"containers": [{"name": "app", "image": "example/web:2"}]})],
        ),
        (("spec", "containers", 0, "resources"), LARGE, [("resize", {"containers": [{"name": "app", "resources": LARGE}]})]),
        (("spec", "containers", 1, "resources"), LARGE, [("resize", {"containers": [{"name": "side", "resources": LARGE}]})]),
        (("spec", "resources"), LARGE, [("resize", {"resources": LARGE})]),
        (("spec", "activeDeadlineSeconds"), 5, [("", {"activeDeadlineSeconds": 5})]),
        (("spec", "ephemeralContainers"), [DEBUG], [("ephemeralcontainers", {"ephemeralContainers": [DEBUG]})]),
    ],
)
def test_what_differs_is_sent(path: tuple[Any, ...], value: Any, expected: list[tuple[str, Object]]) -> None:
    there, pod = build_pod(), build_pod()
    part: Any = pod
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    found = [(part, patch["spec"]) for part, patch in build_patches(pod, there) if "spec" in patch]
    assert found == expected
    assert not [patch for _, patch in build_patches(pod, copy.deepcopy(pod)) if "spec" in patch]


def test_labels_that_are_gone_are_removed() -> None:
    there, pod = build_pod(), build_pod()
    there["metadata"]["labels"] = {"app": "web", "old": "x"}
    pod["metadata"]["labels"] = {"app": "shop"}
    (only,) = build_patches(pod, there)
    assert only == ("", {"metadata": {"labels": {"app": "shop", "old": None}, "annotations": {}}})


def test_debug_containers_are_sent_one_by_one() -> None:
    other = DEBUG | {"name": "other"}
    found = build_patches(build_pod(ephemeralContainers=[DEBUG, other]), build_pod(ephemeralContainers=[DEBUG]))
    assert [patch for part, patch in found if part] == [{"spec": {"ephemeralContainers": [other]}}]


@pytest.fixture
async def world(world: World) -> World:
    world.backend.patches = MemoryPatches(world.backend)
    return world


async def run(world: World) -> str:
    uid = world.bind("web", containers=[{"name": "app", "image": "example/web:1", "resources": SMALL}])
    await world.mark("web", "Accepted")
    world.backend.run(uid)
    await world.phase("web", "Running")
    return uid


def edit(world: World, *, labels: Object | None = None, **spec: Any) -> None:
    pod = world.look("web")
    assert pod is not None
    meta = pod["metadata"] | ({"labels": labels} if labels is not None else {})
    world.api.put(kinds.POD, pod | {"metadata": meta, "spec": pod["spec"] | spec})


async def test_a_pod_that_does_not_change_costs_nothing(world: World) -> None:
    await run(world)
    await world.settle()
    assert world.backend.count("get") == world.backend.count("patch") == 0


async def test_changes_reach_the_backend_and_are_not_sent_again(world: World) -> None:
    uid = await run(world)
    edit(world, labels={"tier": "front"}, ephemeralContainers=[DEBUG])
    await world.until(lambda: world.backend.pods[uid]["spec"].get("ephemeralContainers") == [DEBUG])
    edit(world, containers=[{"name": "app", "image": "example/web:2", "resources": LARGE}])
    await world.until(lambda: world.backend.pods[uid]["spec"]["containers"][0]["resources"] == LARGE)
    assert world.backend.pods[uid]["spec"]["containers"][0]["image"] == "example/web:2"
    assert world.backend.pods[uid]["metadata"]["labels"] == {"tier": "front"}
    await world.settle()
    asked = world.backend.count("patch")
    world.pods.look_at_all()
    await world.settle()
    assert world.backend.count("patch") == asked
    assert "PodUpdateRefused" not in world.events


async def test_changes_that_were_made_while_nobody_looked_are_carried(world: World) -> None:
    uid = await run(world)
    await world.stop()
    edit(world, labels={"tier": "front"}, ephemeralContainers=[DEBUG])
    await world.start()
    await world.until(lambda: world.backend.pods[uid]["spec"].get("ephemeralContainers") == [DEBUG])
    assert world.backend.pods[uid]["metadata"]["labels"] == {"tier": "front"}
    assert world.backend.starts == {uid: 1}


async def test_a_change_that_is_refused_is_told_once_and_holds_up_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "RETRY_SECONDS", 0.05)
    uid = await run(world)
    allowed = False

    def refuse(call: str, pod: Object) -> Exception | None:
        is_sized = pod["spec"]["containers"][0]["resources"] == LARGE
        return InvalidInput("exceeded quota: cpu") if call == "patch resize" and is_sized and not allowed else None

    world.backend.fault = refuse
    edit(world, containers=[{"name": "app", "image": "example/web:1", "resources": LARGE}], ephemeralContainers=[DEBUG])
    await world.until(lambda: "PodUpdateRefused" in world.events)
    assert world.message("PodUpdateRefused") == "exceeded quota: cpu"
    assert world.backend.pods[uid]["spec"]["ephemeralContainers"] == [DEBUG]
    asked = world.backend.count("patch resize")
    await world.until(lambda: world.backend.count("patch resize") > asked + 2)
    assert world.events.count("PodUpdateRefused") == 1
    allowed = True
    await world.until(lambda: world.backend.pods[uid]["spec"]["containers"][0]["resources"] == LARGE)


async def test_a_second_refusal_is_told_as_soon_as_it_may_be(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is the same one each time from then on."""
    monkeypatch.setattr(change, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(change, "TELL_SECONDS", 0.2)
    await run(world)
    texts = ["exceeded quota: cpu"]

    def refuse(call: str, _: Object) -> Exception | None:
        return InvalidInput(texts.pop(0) if texts else "not allowed") if call == "patch resize" else None

    world.backend.fault = refuse
    edit(world, containers=[{"name": "app", "image": "example/web:1", "resources": LARGE}])
    await world.until(lambda: world.events.count("PodUpdateRefused") == 2)
    assert world.message("PodUpdateRefused") == "not allowed"


async def test_an_image_that_is_refused_holds_up_no_label(world: World) -> None:
    uid = await run(world)

    def refuse(call: str, pod: Object) -> Exception | None:
        is_new = pod["spec"]["containers"][0]["image"] == "example/web:2"
        return InvalidInput("image is not allowed") if call == "patch" and is_new and world.backend.count("patch") > 1 else None

    world.backend.fault = refuse
    edit(world, labels={"tier": "front"}, containers=[{"name": "app", "image": "example/web:2", "resources": SMALL}])
    await world.until(lambda: "PodUpdateRefused" in world.events)
    assert world.backend.pods[uid]["metadata"]["labels"] == {"tier": "front"}
    assert world.backend.pods[uid]["spec"]["containers"][0]["image"] == "example/web:1"


async def test_of_very_many_debug_containers_none_is_sent(world: World) -> None:
    await run(world)
    edit(
        world,
        ephemeralContainers=[
            DEBUG | {"name": f"debug-{number}", "env": [{"name": "X", "value": "x" * 200}]} for number in range(51)
        ],
    )
    await world.until(lambda: "PodUpdateRefused" in world.events)
    assert "at most 50" in world.message("PodUpdateRefused")
    assert world.backend.count("patch") == world.backend.count("get") == 0


@pytest.mark.parametrize("error", [NotYet("a conflict"), Unreachable("connection reset")])
async def test_a_change_survives_a_glitch(world: World, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(change, "_NOT_YET_SECONDS", 0.05)
    uid = await run(world)
    faults = [error, error]
    world.backend.fault = lambda call, _: faults.pop() if call.startswith("patch") and faults else None
    edit(world, labels={"tier": "front"})
    await world.until(lambda: world.backend.pods[uid]["metadata"].get("labels") == {"tier": "front"})
    assert not faults
    assert "PodUpdateRefused" not in world.events


async def test_at_a_backend_that_cannot_change_pods_the_owner_is_told() -> None:
    async with living() as world:
        await run(world)
        edit(world, labels={"tier": "front"})
        await world.settle()
        assert "PodUpdateRefused" not in world.events
        edit(world, ephemeralContainers=[DEBUG])
        await world.until(lambda: "PodUpdateRefused" in world.events)
        assert world.message("PodUpdateRefused") == "Backend 'far' cannot change pods that run there: the pod stays unchanged"
        assert world.backend.count("get") == 0


LONG: Object = {"notes": "x" * 10_000}
MANY: Object = {"tier": "front", "long": "y" * 2000}


async def test_a_large_pod_is_read_anew_before_it_is_compared(world: World) -> None:
    uid = await run(world)
    pod = world.look("web")
    assert pod is not None
    world.api.put(
        kinds.POD, pod | {"metadata": pod["metadata"] | {"annotations": LONG, "labels": {"tier": "front", "long": "y" * 2000}}}
    )
    await world.until(lambda: world.backend.pods[uid]["metadata"].get("annotations") == LONG)
    edit(world, containers=[{"name": "app", "image": "example/web:1", "resources": LARGE}])
    await world.until(lambda: world.backend.pods[uid]["spec"]["containers"][0]["resources"] == LARGE)
    assert world.backend.pods[uid]["metadata"]["labels"] == MANY
    await world.settle()
    asked = world.backend.count("patch")
    world.pods.look_at_all()
    await world.settle()
    assert world.backend.count("patch") == asked


async def test_a_pod_that_grows_is_no_changed_one() -> None:
    async with living() as world:
        await run(world)
        pod = world.look("web")
        assert pod is not None
        long = [{"type": "example.com/told", "status": "True", "message": "x" * 10_000}]
        world.api.put(kinds.POD, pod | {"status": pod["status"] | {"conditions": [*pod["status"]["conditions"], *long]}})
        await world.settle()
        assert "PodUpdateRefused" not in world.events
