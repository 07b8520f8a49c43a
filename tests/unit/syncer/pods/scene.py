"""Both clusters in memory, and the queues for pods."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.pods.providers.errors import NoRoom
from nestor.syncer.pods.controller import PodController
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.pods.places import Places
from nestor.syncer.pods.sync import PodSyncer
from tests.fakes.api import MemoryApi
from tests.fakes.cluster import MemoryCluster
from tests.fakes.host import MemoryHost
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import at_work, build_context, calm
from tests.waiting import comes_true

HOST = TARGET.namespace


class Host(MemoryHost):
    """A host with a quota. `is_open` unset keeps creations waiting."""

    def __init__(self, api: MemoryCluster) -> None:
        super().__init__(api=api)
        self.limit = 1_000_000
        self.refused = self.under_way = 0
        self.counted: set[str] = set()
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.created = "2020-01-01T00:00:00Z"
        """When its pods were created."""

    async def create(self, pod: Object) -> Object:
        meta = pod["metadata"]
        self.under_way += 1
        await self.is_open.wait()
        await asyncio.sleep(0)
        self.under_way -= 1
        if len(self.counted | {meta["name"]}) > self.limit:
            self.refused += 1
            raise NoRoom(f"exceeded quota: small, requested: pods=1, used: pods={len(self.counted)}, limited: pods={self.limit}")
        self.counted.add(meta["name"])
        return await super().create(pod | {"metadata": meta | {"creationTimestamp": self.created}})

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        await super().delete(pod, grace_seconds=grace_seconds, is_unchanged=is_unchanged)
        self.counted &= self.pods.keys()

    def end(self, name: str) -> None:
        self.cluster.drop(kinds.POD, name, HOST)
        self.counted.remove(name)


class Scene:
    """Both clusters in memory, and the queues for pods."""

    def __init__(self) -> None:
        self.nested, self.api = MemoryApi(), MemoryCluster()
        self.host = Host(self.api)
        self.prepared: list[str] = []
        context = build_context(self.api, self.nested)
        self.caches = context.caches
        self.gangs, isolation = Gangs(context), Isolation(context)
        self.own_nodes = OwnNodes(self.caches)
        syncer = PodSyncer(context, self.host, self._nothing, self.gangs, isolation)
        self.creator = PodCreator(context, self.host, [self._prepare], Places(context), self.gangs, self.own_nodes, isolation)
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
        for number in range(first, first + count):
            pod = build_pod(labels={"color": "red"})
            pod["metadata"] |= {"name": f"web-{number}", "uid": f"uid-{number}"}
            self.nested.put(kinds.POD, pod)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with at_work(self.caches, self.controller.queue, self.controller.creations, self.gangs.groups.queue):
            yield

    def events(self, reason: str) -> list[Object]:
        return [item for item in self.nested.every("events") if item["reason"] == reason]

    def host_pods(self) -> list[Object]:
        return self.api.every("pods")

    def write_rules(self, placement: Object, **status: Any) -> None:
        """What the class says about places, and else the operator."""
        body = {"spec": {}, "status": {"policy": {"placement": placement}, **status}}
        self.api.put(kinds.NESTED_CLUSTER, {"metadata": {"name": TARGET.cluster, "namespace": HOST}, **body})

    async def calm(self) -> None:
        """Until all news have arrived and are worked off, apart from what is to be tried again later."""
        await calm((self.nested, self.api), lambda: len(self.controller.queue) + len(self.controller.creations))

    async def until(self, check: Callable[[], bool]) -> None:
        await comes_true(check, limit=20)
