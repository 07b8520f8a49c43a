"""Events of host pods reach the nested ones, and none of them is kept."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Unreachable, kinds
from nestor.syncer.copies.memory import Patience
from nestor.syncer.pods import events
from nestor.syncer.pods.events import EventController
from nestor.syncer.view.caches import Caches
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import at_work, breathe, build_context, calm

HOST_POD = "web-x-shop"


@dataclass
class Running:
    """A controller at work between two clusters with one pod."""

    host: MemoryApi
    nested: MemoryApi
    caches: Caches
    controller: EventController

    def happen(self, number: int, *, count: int = 1, about: str = "host-uid", name: str = HOST_POD) -> None:
        involved = {"kind": "Pod", "name": name, "uid": about}
        meta = {"name": f"{name}.{number}", "namespace": TARGET.namespace, "uid": f"event-{number}"}
        self.host.put(
            kinds.EVENT,
            {"metadata": meta, "involvedObject": involved, "reason": "Pulled", "message": str(number), "count": count},
        )

    async def settle(self) -> None:
        await calm((self.host, self.nested), lambda: len(self.controller.queue))

    @property
    def copied(self) -> list[Object]:
        return self.nested.every("events")

    @property
    def asked(self) -> list[str]:
        return [item.split(" ")[0] for item in self.nested.asked if " events " in item]


@contextlib.asynccontextmanager
async def running(host: MemoryApi, nested: MemoryApi) -> AsyncIterator[Running]:
    context = build_context(host, nested)
    caches, controller = context.caches, EventController(context)
    assert caches.host(kinds.POD)
    assert caches.nested_by_uid
    caches.seal()
    async with at_work(caches, controller.queue):
        made = Running(host, nested, caches, controller)
        await made.settle()
        yield made


@pytest.fixture
def clusters() -> tuple[MemoryApi, MemoryApi]:
    host, nested = MemoryApi(), MemoryApi()
    pod = nested.put(kinds.POD, build_pod())
    meta = TARGET.metadata(pod, name=HOST_POD) | {"uid": "host-uid"}
    host.put(kinds.POD, {"metadata": meta, "spec": {}})
    return host, nested


async def test_what_happened_before_the_start_is_not_told_again(clusters: tuple[MemoryApi, MemoryApi]) -> None:
    """A restart used to post each event of the last hour again: 2,000 requests for 1,000 events."""
    async with running(*clusters) as made:
        made.happen(1)
        await made.settle()
    async with running(*clusters) as made:
        made.nested.asked.clear()
        await made.settle()
        assert made.asked == []
        made.happen(1)  # copied by the process before this one
        await made.settle()
        assert made.asked == ["POST", "PATCH"]
        made.nested.asked.clear()
        made.happen(1, count=2)
        await made.settle()
        assert made.asked == ["PATCH"]
        assert [item["count"] for item in made.copied] == [2]


async def test_what_waits_for_the_nested_cluster_is_bounded(
    clusters: tuple[MemoryApi, MemoryApi], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "WAITING_LIMIT", 10)
    clusters[1].refusal = lambda *_: Unreachable("the nested cluster is down")
    async with running(*clusters) as made:
        for number in range(100):
            made.happen(number)
        await made.settle()
        assert len(made.controller._waiting) == 10


async def test_events_about_other_pods_are_forgotten(clusters: tuple[MemoryApi, MemoryApi]) -> None:
    async with running(*clusters) as made:
        made.controller._patience = Patience(0, 0)
        made.happen(1, about="an-earlier-uid")
        made.happen(2, name="somebody-else")
        await made.settle()
        assert made.copied == []
        assert len(made.controller._waiting) == 0


async def test_a_copy_that_has_expired_is_made_again(clusters: tuple[MemoryApi, MemoryApi]) -> None:
    async with running(*clusters) as made:
        made.happen(1)
        await made.settle()
        (event,) = made.copied
        made.nested.drop(kinds.EVENT, event["metadata"]["name"], event["metadata"]["namespace"])
        made.happen(1, count=2)
        await made.settle()
        assert [item["count"] for item in made.copied] == [2]


async def test_what_happens_again_while_it_is_copied_is_counted_up(
    clusters: tuple[MemoryApi, MemoryApi], monkeypatch: pytest.MonkeyPatch
) -> None:
    create = clusters[1].create

    async def create_slowly(*args: Any, **options: Any) -> Object:
        made.happen(1, count=2)
        await breathe()
        return await create(*args, **options)

    async with running(*clusters) as made:
        monkeypatch.setattr(clusters[1], "create", create_slowly)
        made.happen(1)
        await made.settle()
        assert [item["count"] for item in made.copied] == [2]
