"""Both clusters in memory, and the queues for pods."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from nestor.api.objects import Object
from nestor.kube import Api, kinds
from nestor.kube.events import EventRecorder
from nestor.pods.providers.errors import NoRoom
from nestor.syncer.pods.controller import PodController
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.pods.places import Places
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from tests.conformance.providers.memory import MemoryProvider
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import at_work, calm
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
        self.created = "2020-01-01T00:00:00Z"
        """When its pods were created."""
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
        made["metadata"]["creationTimestamp"] = self.created
        return self._api.put(kinds.POD, made)

    async def patch(self, pod: Object, patch: Object, part: Any = "") -> None:
        await super().patch(pod, patch, part)
        self._api.put(kinds.POD, self.pods[pod["metadata"]["name"]])

    async def delete(self, pod: Object, *, grace_seconds: int | None = None, is_unchanged: bool = False) -> None:
        await super().delete(pod, grace_seconds=grace_seconds)  # whether it is unchanged, the API server's version would say
        if pod["metadata"]["name"] not in self.pods:
            self.counted.discard(pod["metadata"]["name"])
            self._api.drop(kinds.POD, pod["metadata"]["name"], HOST)

    def end(self, name: str) -> None:
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
        return [item for key, item in self.nested.objects.items() if key[0] == "events" and item["reason"] == reason]

    async def calm(self) -> None:
        """Until all news have arrived and are worked off, apart from what is to be tried again later."""
        await calm((self.nested, self.api), lambda: len(self.controller.queue) + len(self.controller.creations))

    async def until(self, check: Callable[[], bool]) -> None:
        async def look() -> bool:
            return check()

        await eventually(look, limit=20)
