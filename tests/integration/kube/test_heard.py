"""`heard` goes on neither before a process knows what was done, nor while it has something to do."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Informer, Kind, WorkQueue, kinds
from nestor.kube.serving import pages
from nestor.kube.serving.pages import Pages
from tests.heard import Process, heard
from tests.integration import apiserver
from tests.waiting import eventually


class HeldApi(Api):
    """Tells of no event as long as the gate is closed."""

    gate: asyncio.Event

    async def watch(self, kind: Kind, namespace: str | None, query: dict[str, str]) -> AsyncGenerator[Object, None]:
        """See `Api.watch`."""
        async with aclosing(super().watch(kind, namespace, query)) as events:
            async for event in events:
                await self.gate.wait()
                yield event


@dataclass
class Known:
    """A process with one cache and one queue."""

    api: Api
    informer: Informer
    queue: WorkQueue[str]
    gate: asyncio.Event
    go_on: asyncio.Event
    process: Process
    asked: list[None] = field(default_factory=list)

    async def is_held_up(self, by: asyncio.Event) -> None:
        """`heard` asks again and again, and goes on once this is set."""
        hearing, begin = asyncio.create_task(heard(self.process)), len(self.asked)

        async def has_asked() -> bool:
            return len(self.asked) > begin + 2 or hearing.done()

        await eventually(has_asked)
        assert not hearing.done()
        by.set()
        await hearing

    def write(self) -> str:
        """The page."""
        self.asked.append(None)
        return pages.write_caches({"host": [self.informer]}, [self.queue])


@pytest.fixture
async def known(control_plane: apiserver.ControlPlane, host: Api, namespace: str) -> AsyncIterator[Known]:
    """It knows one ConfigMap, and two others have other labels."""
    (port,) = apiserver.free_ports(1)
    go_on, gate = asyncio.Event(), asyncio.Event()

    async def work(_: str) -> None:
        await go_on.wait()

    for name, label in (("one", "ours"), ("two", "others"), ("three", "others")):
        body = {"metadata": {"name": name, "namespace": namespace, "labels": {"of": label}}}
        await host.create(kinds.CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", **body})
    async with await HeldApi.connect(str(control_plane.kubeconfig)) as held:
        held.gate = gate
        informer = Informer(held, kinds.CONFIG_MAP, namespace, labels="of=ours")
        made = Known(host, informer, WorkQueue(work), gate, go_on, Process(port, {"host": host}))
        parts = (Pages({}, {pages.CACHES: made.write}).serve(port), informer.run(), made.queue.run())
        tasks = [asyncio.create_task(part) for part in parts]
        await heard(made.process)
        yield made
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def change(api: Api, namespace: str) -> None:
    """Its data."""
    await api.patch(kinds.CONFIG_MAP, "one", namespace, {"data": {"a": "b"}})


async def take_out(api: Api, namespace: str) -> None:
    """It is none that is watched any more."""
    await api.patch(kinds.CONFIG_MAP, "one", namespace, {"metadata": {"labels": {"of": "others"}}})


async def take_in(api: Api, namespace: str) -> None:
    """Another one is."""
    await api.patch(kinds.CONFIG_MAP, "two", namespace, {"metadata": {"labels": {"of": "ours"}}})


async def delete(api: Api, namespace: str) -> None:
    """The answer has no version."""
    await api.delete(kinds.CONFIG_MAP, "one", namespace)


async def replace(api: Api, namespace: str) -> None:
    """As many as before."""
    await delete(api, namespace)
    await take_in(api, namespace)


@pytest.mark.parametrize("act", [change, take_out, take_in, delete, replace])
async def test_it_awaits_that_the_cache_has_what_a_list_gives(known: Known, act: Callable[[Api, str], Awaitable[None]]) -> None:
    await act(known.api, str(known.informer.namespace))
    await known.is_held_up(known.gate)
    listed = await known.api.list(kinds.CONFIG_MAP, known.informer.namespace, labels="of=ours")
    versions = [
        {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items} for items in (listed, known.informer)
    ]
    assert versions[0] == versions[1]


async def test_it_does_not_await_what_the_process_does_not_watch(known: Known) -> None:
    await known.api.patch(kinds.CONFIG_MAP, "two", known.informer.namespace, {"data": {"a": "b"}})
    await known.api.delete(kinds.CONFIG_MAP, "three", known.informer.namespace)
    await heard(known.process)
    assert not known.gate.is_set()


@pytest.mark.parametrize("delay", [0, pages.SOON_SECONDS / 2])
async def test_it_awaits_that_nothing_is_worked_on(known: Known, delay: float) -> None:
    known.queue.add("key", delay)
    await known.is_held_up(known.go_on)
    assert not known.queue.count_due(math.inf)


async def test_it_does_not_await_what_is_due_later(known: Known) -> None:
    known.queue.add("key", 3600)
    await heard(known.process)
    assert known.queue.count_due(math.inf)
