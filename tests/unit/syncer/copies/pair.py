"""Two clusters in memory and an engine between them, with real caches and a real queue."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from nestor.api import names
from nestor.api.labels import COMPONENT
from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from nestor.syncer import limits
from nestor.syncer.copies.engine import Engine
from nestor.syncer.copies.references import References
from nestor.syncer.copies.row import Row
from nestor.syncer.view.caches import Caches
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import at_work, build_context, calm
from tests.waiting import comes_true

SPACE = "shop"
HOST = TARGET.namespace


@dataclass
class Clusters:
    """Both sides: they live on when a syncer ends."""

    host: MemoryApi
    nested: MemoryApi

    @classmethod
    def build(cls, *known: Kind, **policy: Any) -> Clusters:
        """With a NestedCluster on the host."""
        clusters = cls(MemoryApi(*known), MemoryApi(*known))
        clusters.allow(**policy)
        return clusters

    def copy(self, kind: Kind, name: str) -> Any:
        """The host copy of a nested object in `SPACE`."""
        return self.host.look(kind, names.host_name(name, SPACE), HOST)

    def add_pod(self, name: str = "web", **spec: Any) -> Object:
        pod = build_pod(**spec)
        pod["metadata"] |= {"name": name, "uid": f"{name}-uid"}
        return self.nested.put(kinds.POD, pod)

    def add_foreign(self, kind: Kind, name: str, **content: Any) -> Object:
        """A host object of somebody else that has a copy's name."""
        meta = {"name": names.host_name(name, SPACE), "namespace": HOST, "labels": {COMPONENT: "other"}}
        return self.host.put(kind, {"metadata": meta, **content})

    def add_host_pod(self, uid: str = "web-uid", address: str = "", phase: str = "Running", **spec: Any) -> Object:
        """A pod of this cluster on the host, and its address."""
        meta = TARGET.metadata({"metadata": {"name": "one", "namespace": SPACE, "uid": uid}})
        status = {"phase": phase, "podIPs": [{"ip": address}] if address else []}
        return self.host.put(kinds.POD, {"metadata": meta, "spec": spec, "status": status})

    def allow(self, *, is_suspended: bool = False, **policy: Any) -> None:
        """What the class says. Without `policy`, what it does if it says nothing."""
        meta, spec = {"name": TARGET.cluster, "namespace": HOST}, {"suspend": is_suspended}
        self.host.put(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": spec, "status": {"policy": policy}})

    @property
    def events(self) -> list[tuple[str, str]]:
        """What was told in the nested cluster: reasons and messages."""
        found = self.nested.every("events")
        return [(item["reason"], item["message"]) for item in found]


@dataclass
class Running:
    """A syncer's engines at work."""

    clusters: Clusters
    caches: Caches
    engines: list[Engine]

    @property
    def engine(self) -> Engine:
        (found,) = self.engines
        return found

    async def settle(self) -> None:
        """Until both sides' news have arrived and are worked off, apart from what is to be tried again later."""
        sides = (self.clusters.host, self.clusters.nested)
        await calm(sides, lambda: sum(len(engine.queue) for engine in self.engines if _works(engine)))

    async def put_nested(self, kind: Kind, body: Object) -> None:
        """The tenant writes an object, and the syncer follows."""
        self.clusters.nested.put(kind, body)
        await self.settle()

    async def drop_nested(self, *key: Any) -> None:
        """The tenant deletes an object, and the syncer follows."""
        self.clusters.nested.drop(*key)
        await self.settle()

    async def put_host(self, kind: Kind, body: Object) -> None:
        """An object of the host changes, and the syncer follows."""
        self.clusters.host.put(kind, body)
        await self.settle()

    async def drop_host(self, *key: Any) -> None:
        """An object of the host goes, and the syncer follows."""
        self.clusters.host.drop(*key)
        await self.settle()

    async def allow(self, **policy: Any) -> None:
        """The class changes, and the syncer follows."""
        self.clusters.allow(**policy)
        await self.settle()

    async def until(self, check: Callable[[], object]) -> None:
        """Until something is so, while the queue goes on trying."""
        await comes_true(check, limit=10)


def remembered(engine: Engine) -> int:
    """Number of entries in memory: one per existing copy, plus work in progress. It must not grow beyond that."""
    return len(engine.copier._removed) + len(engine._refused._told) + len(engine._ignored._told) + len(engine._unused)


def _works(engine: Engine) -> bool:
    """Unless a cluster does not have its kind."""
    return all(cache.synced.is_set() for cache in engine.row.read)


def allow_most(monkeypatch: pytest.MonkeyPatch, kind: Kind, number: int) -> None:
    """Let the host have only so many copies of a kind."""
    monkeypatch.setitem(limits.MOST_COPIES, kind, (number, limits.MOST_COPIES[kind][1]))


def allow_most_parts(monkeypatch: pytest.MonkeyPatch, kind: Kind, number: int) -> None:
    """Let all copies of a kind have only so many ports or endpoints."""
    monkeypatch.setitem(limits.MOST_PARTS, kind, (number, limits.MOST_PARTS[kind][1]))


@contextlib.asynccontextmanager
async def running(clusters: Clusters, *rows: type[Row]) -> AsyncIterator[Running]:
    context = build_context(clusters.host, clusters.nested)
    caches, references = context.caches, References(context.caches)
    engines = [Engine(row(context, references)) for row in rows]
    caches.seal()
    async with at_work(caches, *(engine.queue for engine in engines)):
        made = Running(clusters, caches, engines)
        await made.settle()
        clusters.host.asked.clear()
        clusters.nested.asked.clear()
        yield made
