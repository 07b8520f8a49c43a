"""A stream of changes without a cache: what is new is told, whatever happens to the connection, and nothing old is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nestor.kube import Api, kinds
from nestor.kube.informer import Stream
from tests.integration.kube import faults
from tests.integration.kube.test_informer import create, running
from tests.waiting import eventually


def selected(api: Api, namespace: str) -> Stream:
    """A stream of the ConfigMaps with the label `watch=yes`."""
    return Stream(api, kinds.CONFIG_MAP, namespace, labels="watch=yes")


@asynccontextmanager
async def told(stream: Stream) -> AsyncIterator[list[str]]:
    """The names that a running stream tells of."""
    names: list[str] = []
    stream.on_change(lambda change: names.append(change.key[1]))
    async with running(stream):
        yield names


async def test_only_what_is_new_is_told_and_nothing_is_kept(host: Api, namespace: str) -> None:
    for number in range(3):
        await create(host, namespace, f"old-{number}")
    stream = selected(host, namespace)
    async with told(stream) as names:
        await create(host, namespace, "new")
        await host.patch(kinds.CONFIG_MAP, "old-0", namespace, {"data": {"x": "1"}})
        await host.delete(kinds.CONFIG_MAP, "old-1", namespace)
        await create(host, namespace, "last")

        async def all_told() -> bool:
            return names == ["new", "old-0", "last"]

        await eventually(all_told)
        assert stream.store == {}


async def test_it_goes_on_where_it_was_cut_and_from_now_on_where_that_is_unknown() -> None:
    asked: list[str] = []

    async def script(exchange: faults.Exchange) -> None:
        asked.append(exchange.target.partition("?")[2])
        watches = sum("watch=true" in item for item in asked)
        if "watch=true" not in exchange.target:
            meta = {"resourceVersion": str(len(asked))}
            await exchange.answer({"metadata": meta, "items": [{"metadata": {"name": "old", "namespace": "n"}}]})
            return
        await exchange.begin()
        if watches == 1:
            meta = {"name": "first", "namespace": "n", "resourceVersion": "7"}
            await exchange.send({"type": "ADDED", "object": {"metadata": meta}})
            exchange.cut()
        elif watches == 2:
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            await exchange.send({"type": "ERROR", "object": gone})
        await asyncio.Event().wait()

    async with (
        faults.scripted(script) as server,
        await Api.from_kubeconfig(faults.kubeconfig(server)) as api,
        told(Stream(api, kinds.CONFIG_MAP, "n")) as names,
    ):

        async def settled() -> bool:
            return len(asked) == 5

        await eventually(settled)
        assert names == ["first"]
    kinds_of = ["watch" if "watch=true" in item else "list" for item in asked]
    assert kinds_of == ["list", "watch", "watch", "list", "watch"]
    assert all("limit=1" in item for item in asked if "watch=true" not in item)
    versions = [item.partition("resourceVersion=")[2].partition("&")[0] for item in asked if "watch=true" in item]
    assert versions == ["1", "7", "4"]
