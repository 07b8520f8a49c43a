"""Who is told that an object is not carried, and how often."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from nestor.syncer.cluster.not_carried import NotCarried
from tests.fakes.api import MemoryApi
from tests.unit.syncer.at_work import build_context
from tests.waiting import comes_true

ROUTE = Kind("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
CLAIM = Kind("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")


class NestedApi(MemoryApi):
    """A nested API server of a version that has Ingresses, but no ResourceClaims."""

    def __init__(self) -> None:
        super().__init__(kinds.INGRESS, kinds.CRD, ROUTE, CLAIM)
        self.paths: list[str] = []

    async def request(self, method: str, path: str, query: dict[str, str] | None = None, *_: Any, **named: Any) -> Object:
        """With the lists of what there is."""
        self.paths.append(path)
        if path == "/apis/networking.k8s.io/v1":
            return {"resources": [{"name": "ingresses", "kind": "Ingress", "namespaced": True}]}
        if path == "/apis/gateway.networking.k8s.io/v1" and self.look(kinds.CRD, DEFINITION["metadata"]["name"]):
            return {"resources": [{"name": "httproutes", "kind": "HTTPRoute", "namespaced": True}]}
        if path.count("/") == 3:
            return {"resources": []}
        return await super().request(method, path, query, **named)

    @property
    def told(self) -> list[tuple[str, str]]:
        """Kind and name of each object with an event."""
        found = [item["involvedObject"] for item in self.every("events")]
        return sorted((item["kind"], item["name"]) for item in found)


DEFINITION: Object = {
    "metadata": {"name": "httproutes.gateway.networking.k8s.io"},
    "spec": {
        "group": ROUTE.group,
        "names": {"kind": ROUTE.name},
        "versions": [{"name": "v1beta1", "storage": False}, {"name": "v1", "storage": True}],
    },
}


def put(api: NestedApi, kind: Kind, name: str) -> None:
    api.put(kind, {"metadata": {"name": name, "namespace": "shop"}})


@contextlib.asynccontextmanager
async def running(api: NestedApi) -> AsyncIterator[NotCarried]:
    made = NotCarried(build_context(api, api))
    tasks = [asyncio.create_task(made.run()), asyncio.create_task(made.queue.run())]
    try:
        yield made
        assert not [task for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def tells(api: NestedApi, *expected: tuple[str, str]) -> None:
    await comes_true(lambda: api.told == sorted(expected), limit=10)


async def test_a_kind_is_followed_once_it_is_defined_and_no_other_is_asked_for() -> None:
    api = NestedApi()
    api.put(kinds.CRD, {"metadata": {"name": "widgets.example.com"}, "spec": {}})
    async with running(api):
        put(api, kinds.INGRESS, "web")
        await tells(api, ("Ingress", "web"))
        assert not [path for path in api.paths if "gateway" in path or "snapshot" in path or "widgets" in path]
        assert CLAIM.path() not in api.paths
        put(api, ROUTE, "web")
        api.put(kinds.CRD, DEFINITION)
        await tells(api, ("HTTPRoute", "web"), ("Ingress", "web"))
        api.drop(kinds.CRD, DEFINITION["metadata"]["name"])
        api.put(kinds.CRD, DEFINITION)
        put(api, ROUTE, "second")
        await tells(api, ("HTTPRoute", "second"), ("HTTPRoute", "web"), ("Ingress", "web"))
