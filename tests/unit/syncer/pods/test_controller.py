"""Many pods at once: what one waits for must not be a burden to the others, nor to the host."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from nestor.kube import Api, kinds
from nestor.kube.events import EventRecorder
from nestor.objects import Object
from nestor.providers.base import NoRoom
from nestor.syncer.pods.controller import PodController
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from nestor.translate.labels import host_key
from tests.conformance.providers.memory import MemoryProvider
from tests.fakes.api import MemoryApi
from tests.unit.translate.builders import TARGET, build_pod
from tests.waiting import eventually

HOST = TARGET.namespace


class Host(MemoryProvider):
    """A host with a quota: what it runs is in its API server. `is_open` unset keeps creations waiting."""

    def __init__(self, api: MemoryApi) -> None:
        super().__init__()
        self.limit = 1_000_000
        self.refused = self.under_way = 0
        self.counted: set[str] = set()
        self.is_open = asyncio.Event()
        self.is_open.set()
        self._api = api

    async def create(self, pod: Object) -> Object:
        self.under_way += 1
        await self.is_open.wait()
        await asyncio.sleep(0)
        self.under_way -= 1
        if len(self.counted | {pod["metadata"]["name"]}) > self.limit:
            self.refused += 1
            raise NoRoom(f"exceeded quota: small, requested: pods=1, used: pods={len(self.counted)}, limited: pods={self.limit}")
        self.counted.add(pod["metadata"]["name"])
        made = await super().create(pod)
        return self._api.put(kinds.POD, made)

    async def patch(self, pod: Object, patch: Object, part: Any = "") -> None:
        await super().patch(pod, patch, part)
        self._api.put(kinds.POD, self.pods[pod["metadata"]["name"]])

    def end(self, name: str) -> None:
        """A pod has ended, and is gone."""
        del self.pods[name]
        self.counted.remove(name)
        self._api.drop(kinds.POD, name, HOST)


class Scene:
    """Both clusters in memory, and the queues for pods."""

    def __init__(self) -> None:
        self.nested, self.api = MemoryApi(), MemoryApi()
        self.host = Host(self.api)
        self.prepared: list[str] = []
        nested, api = cast(Api, self.nested), cast(Api, self.api)
        self.caches = Caches(api, nested, TARGET)
        context = Context(api, nested, TARGET, self.caches, EventRecorder(nested, "test"))
        syncer = PodSyncer(context, self.host, self._nothing, lambda _: "")
        self.creator = PodCreator(context, self.host, [self._prepare])
        deleter = PodDeleter(context, self.host, syncer)
        self.controller = PodController(context, self.creator, syncer, deleter, cast(Any, self))

    async def settle(self, uid: str, nested: Object | None) -> None:
        """In place of the evictor's."""

    async def evict(self, _: Object) -> None:
        """In place of the evictor's, which leaves alone what is not bound."""

    async def _nothing(self, _: str) -> None:
        pass

    async def _prepare(self, pod: Object) -> None:
        self.prepared.append(pod["metadata"]["name"])

    def add(self, count: int, first: int = 0) -> None:
        """So many nested pods of one template."""
        for number in range(first, first + count):
            pod = build_pod(labels={"color": "red"})
            pod["metadata"] |= {"name": f"web-{number}", "uid": f"uid-{number}"}
            self.nested.put(kinds.POD, pod)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the start of a syncer to its end."""
        tasks = [asyncio.create_task(informer.run()) for informer in self.caches]
        queues = [self.controller.queue, self.controller.creations]
        try:
            await self.caches.wait_for_sync()
            tasks += [asyncio.create_task(queue.run()) for queue in queues]
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def calm(self) -> None:
        """Until all news have arrived and are worked off, apart from what is to be tried again later."""
        calm = 0
        while calm < 5:
            await asyncio.sleep(0)
            waiting = len(self.controller.queue) + len(self.controller.creations)
            calm = calm + 1 if self.nested.is_quiet and self.api.is_quiet and not waiting else 0

    async def until(self, check: Callable[[], bool]) -> None:
        async def look() -> bool:
            return check()

        await eventually(look, limit=20)


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


async def test_a_full_quota_is_hardly_asked_and_what_waits_gets_its_room() -> None:
    scene = Scene()
    scene.host.limit = 10
    async with scene.running():
        scene.add(1000)
        await scene.until(lambda: len(scene.host.pods) == 10)
        await scene.calm()
        assert scene.host.refused <= 20  # as many as may be under way when the first one is refused
        assert len(scene.prepared) <= 10 + 20  # and only these have tokens and copies
        told = [item for key, item in scene.nested.objects.items() if key[0] == "events"]
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


async def test_a_pod_that_waited_for_a_resume_is_created_and_not_taken_for_lost() -> None:
    scene = Scene()
    cluster = {"metadata": {"name": TARGET.cluster, "namespace": HOST}}
    scene.api.put(kinds.NESTED_CLUSTER, cluster | {"spec": {}})
    async with scene.running():
        scene.add(1)
        await scene.until(lambda: len(scene.host.pods) == 1)
        await scene.calm()
        ((name, pod),) = scene.host.pods.items()
        scene.api.put(kinds.POD, pod | {"spec": pod["spec"] | {"nodeName": "n"}})
        await scene.calm()
        scene.api.put(kinds.NESTED_CLUSTER, cluster | {"spec": {"suspend": True}})
        await scene.calm()
        scene.host.end(name)
        await scene.calm()
        scene.api.put(kinds.NESTED_CLUSTER, cluster | {"spec": {"suspend": False}})
        await scene.until(lambda: len(scene.host.pods) == 1)
