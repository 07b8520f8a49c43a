"""Many pods at once: what one waits for must not be a burden to the others, nor to the host."""

import asyncio

import pytest

from nestor.kube import kinds
from nestor.pods.translate.labels import host_key
from nestor.syncer.pods import room
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.pods.scene import HOST, Scene


async def test_a_slow_host_does_not_keep_the_pods_that_run_from_being_synced() -> None:
    scene = Scene()
    scene.add(1)
    async with scene.running():
        await scene.until(lambda: len(scene.host.pods) == 1)
        scene.host.is_open.clear()
        scene.add(100, first=1)
        await scene.until(lambda: scene.host.under_way > 0)
        await asyncio.sleep(0)
        pod = build_pod(labels={"color": "blue"})
        pod["metadata"] |= {"name": "web-0", "uid": "uid-0"}
        scene.nested.put(kinds.POD, pod)
        (name,) = scene.host.pods
        await scene.until(lambda: scene.host.pods[name]["metadata"]["labels"][host_key("color", ())] == "blue")
        assert len(scene.host.pods) == 1
        scene.host.is_open.set()
        await scene.until(lambda: len(scene.host.pods) == 101)


async def test_a_full_quota_is_hardly_asked_and_what_waits_gets_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "find_delay", lambda _refusals: 3600)  # however slow the machine, nobody asks for want of news
    scene = Scene()
    scene.host.limit = 10
    async with scene.running():
        scene.add(1000)
        await scene.until(lambda: len(scene.host.pods) == 10)
        await scene.calm()
        assert scene.host.refused <= 20  # as many as may be under way when the first one is refused
        assert len(scene.prepared) <= 10 + 20  # and only these have tokens and copies
        told = scene.nested.every("events")
        assert len({item["involvedObject"]["name"] for item in told}) == len(told) == 990
        message = (
            "exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10; ask an administrator of the host cluster"
        )
        assert {item["message"] for item in told} == {f"{message} to raise this quota"}
        before = scene.host.refused
        scene.host.end(next(iter(scene.host.pods)))
        await scene.until(lambda: len(scene.host.pods) == 10)
        await scene.calm()
        assert scene.host.refused <= before + 1
        before = scene.host.refused
        meta = {"name": "small", "namespace": HOST}
        scene.api.put(kinds.RESOURCE_QUOTA, {"metadata": meta, "spec": {"hard": {"pods": "10"}}})
        scene.host.limit = 500
        scene.api.put(kinds.RESOURCE_QUOTA, {"metadata": meta, "spec": {"hard": {"pods": "500"}}})
        await scene.until(lambda: len(scene.host.pods) == 500)
        await scene.calm()
        assert scene.host.refused <= before + 10


async def test_a_pod_that_has_ended_makes_room_while_it_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotas do not count it any more, and it may stay for days."""
    scene = Scene()
    delays: list[float] = []
    monkeypatch.setattr(scene.creator.room, "reopen", delays.append)
    async with scene.running():
        scene.add(1)
        await scene.until(lambda: len(scene.host.pods) == 1)
        await scene.calm()
        (pod,) = scene.host.pods.values()
        for phase in ("Running", "Succeeded", "Succeeded"):
            scene.api.put(kinds.POD, pod | {"status": {"phase": phase, "reason": str(delays)}})
            await scene.calm()
        assert delays == [1]


async def test_a_pod_that_is_not_to_run_any_more_when_its_turn_comes_is_not_created() -> None:
    scene = Scene()
    async with scene.running():
        pod = build_pod(schedulingGates=[{"name": "wait"}])
        scene.nested.put(kinds.POD, pod)
        await scene.calm()
        scene.controller.creations.add(pod["metadata"]["uid"])
        await scene.calm()
        assert scene.host.pods == {}
        assert scene.prepared == []


@pytest.mark.parametrize("is_ending", [False, True])
async def test_a_drained_pod_is_replaced_at_once_unless_its_whole_cluster_goes(is_ending: bool) -> None:
    scene = Scene()
    meta = {"name": TARGET.cluster, "namespace": HOST, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_ending else {})}
    scene.api.put(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}})
    async with scene.running():
        scene.add(1)
        await scene.until(lambda: len(scene.host.pods) == 1)
        await scene.calm()
        (pod,) = scene.host.pods.values()
        gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
        scene.api.put(kinds.POD, pod | {"metadata": pod["metadata"] | gone, "spec": pod["spec"] | {"nodeName": "n"}})
        await scene.calm()
        assert ("DELETE pods shop/web-0" in scene.nested.asked) is not is_ending
