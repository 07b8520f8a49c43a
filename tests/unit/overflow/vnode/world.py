"""One virtual node with its pods, an API server and a backend, all in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar, cast

from nestor.api import conditions, labels
from nestor.api.contracts.vnode import SENT
from nestor.api.objects import Object, conditions_of
from nestor.kube import Api, Informer, Kind, kinds
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.pods.controller import PodController
from nestor.overflow.vnode.pods.entry import Entry, Home
from nestor.overflow.vnode.pods.poll import StatusPoller
from nestor.overflow.vnode.pods.trim import trim_pod
from tests.fakes.api import MemoryApi
from tests.fakes.backend import MemoryBackend
from tests.waiting import comes_true, eventually

Error = TypeVar("Error", bound=Exception)

NODE, SPACE, BACKEND = "far", "shop", "far"


class NodeApi(MemoryApi):
    async def delete(self, kind: Kind, name: str, namespace: str | None = None, **options: Any) -> bool:
        """See `Api.delete`. An object with finalizers stays."""
        now = self.look(kind, name, namespace or "")
        if now is None or not now["metadata"].get("finalizers"):
            return await super().delete(kind, name, namespace, **options)
        await self._enter("DELETE", kind, namespace, name)
        now["metadata"] |= {"deletionTimestamp": "2030-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
        self.put(kind, now)
        return True


class World:
    """`start` begins a process of virtual nodes, `stop` ends it; API server and backend live on."""

    def __init__(self) -> None:
        self.api = NodeApi()
        self.backend = MemoryBackend()
        self.health = Health()
        self.pods: PodController
        self.poller: StatusPoller
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """A new process, which knows nothing but what API server and backend tell it."""
        self.health = Health()
        self.health.note_answer()
        backend = cast(Any, self.backend)
        self.pods = PodController(backend, BACKEND, "10.0.0.7", self.health)
        informer = Informer(cast(Api, self.api), kinds.POD, fields=f"spec.nodeName={NODE}", trim=trim_pod)
        self.pods.registry.watch(Home(NODE, "default", cast(Api, self.api)), informer)
        self.poller = StatusPoller(backend, self.pods.registry, self.health, 0.01, self.pods.queue.add)
        parts = (informer.run(), self.pods.queue.run(), self.pods.creations.run(), self.poller.run())
        self._tasks = [asyncio.create_task(part) for part in parts]
        await informer.synced.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def bind(self, name: str, *, seconds: str = "", owner: str = "", note: Object | None = None, **spec: Any) -> str:
        """A pod is bound to the node. Returns its UID."""
        meta: Object = {"name": name, "namespace": SPACE, "creationTimestamp": "2030-01-01T00:00:00Z"}
        meta |= {"annotations": {labels.PENDING_SECONDS: seconds}} if seconds else {"annotations": note or {}}
        meta |= {"ownerReferences": [{"kind": owner, "name": "x", "uid": "x", "controller": True}]} if owner else {}
        containers = [{"name": "app", "image": "example/web:1"}]
        full = {"nodeName": NODE, "restartPolicy": "Never", "containers": containers, "enableServiceLinks": False, **spec}
        status = {"phase": "Pending", "qosClass": "BestEffort", "conditions": [{"type": "PodScheduled", "status": "True"}]}
        made = self.api.put(kinds.POD, {"metadata": meta, "spec": full, "status": status})
        return str(made["metadata"]["uid"])

    def edit(self, name: str, **parts: Object) -> None:
        """Somebody changes parts of the pod, such as `status`."""
        pod = self.look(name)
        assert pod is not None
        self.api.put(kinds.POD, pod | {part: pod[part] | fields for part, fields in parts.items()})

    def allow_a_second(self, name: str) -> None:
        """The pod may wait for a second only: until here, no test has had to see anything in that time."""
        self.edit(name, metadata={"annotations": {labels.PENDING_SECONDS: "1"}})

    async def accept(self, name: str = "web", **fields: Any) -> str:
        """A pod that the backend has; `fields` as of `bind`. Returns its UID."""
        uid = self.bind(name, **fields)
        await self.mark(name, "Accepted")
        return uid

    async def run(self, name: str = "web") -> str:
        """A pod that runs. Returns its UID."""
        uid = await self.accept(name)
        self.backend.run(uid)
        await self.phase(name, "Running")
        return uid

    def delete(self, name: str, grace: int = 30) -> None:
        """Somebody deletes the pod, with a grace period."""
        self.edit(name, metadata={"deletionTimestamp": "2030-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace})

    def look(self, name: str) -> Object | None:
        return self.api.look(kinds.POD, name, SPACE)

    def entry(self, uid: str) -> Entry:
        found = self.pods.registry.get(uid)
        assert found is not None
        return found

    async def phase(self, name: str, *phases: str | None) -> Object:
        """Await one of these phases (None: the pod is gone). Returns the status."""

        async def look() -> list[Object]:
            pod = self.look(name)
            found = pod["status"].get("phase") if pod else None
            return [(pod or {}).get("status", {})] if found in phases else []

        return (await eventually(look))[0]

    async def mark(self, name: str, mark: str) -> None:
        """Await what the pod's status says of its being sent."""
        await comes_true(lambda: (conditions.find(conditions_of(self.look(name)), SENT) or {}).get("reason") == mark)

    async def until(self, check: Callable[[], object]) -> None:
        """Await a condition, for as long as a thousand pods take on a busy machine."""
        await comes_true(check, limit=120)

    async def polled(self, times: int = 3) -> None:
        """Await so many further questions for statuses, and what follows from them."""
        begin = self.backend.count("statuses")
        await self.until(lambda: self.backend.count("statuses") >= begin + times)
        await self.settle()

    async def settle(self) -> None:
        """Await that nothing is being worked on. Timers may be due later."""
        for _ in range(20):
            await asyncio.sleep(0)
            await self.until(lambda: len(self.pods.queue) == len(self.pods.creations) == 0)

    @property
    def events(self) -> list[str]:
        return [item["reason"] for key, item in self.api.objects.items() if key[0] == "events"]

    def event(self, reason: str) -> Object:
        """The newest one with this reason."""
        found: Object = [item for key, item in self.api.objects.items() if key[0] == "events" and item["reason"] == reason][-1]
        return found

    def message(self, reason: str) -> str:
        return str(self.event(reason)["message"])


def first(times: int, what: str, error: Error) -> Callable[[str, Object], Error | None]:
    """A fault of the first calls of the backend, or requests of the API, of one kind."""
    left = [times]

    def fail(call: str, _: Object) -> Error | None:
        left[0] -= call == what
        return error if call == what and left[0] >= 0 else None

    return fail


@contextlib.asynccontextmanager
async def living() -> AsyncIterator[World]:
    """A world whose process has begun."""
    world = World()
    await world.start()
    try:
        yield world
    finally:
        await world.stop()
