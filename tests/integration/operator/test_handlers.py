"""kopf names each resource of ours that changes, from one watch of its kind that goes on."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from nestor.kube import Api, kinds
from nestor.operator import handlers
from nestor.operator.wiring import Operator
from tests.integration import apiserver
from tests.integration.operator.world import build_class
from tests.waiting import eventually


class Listener:
    """In the place of an operator: it does no work, and remembers what it is to look at."""

    def __init__(self, api: Api) -> None:
        self.context = SimpleNamespace(api=api)
        self.named: list[tuple[str, str, str]] = []

    async def work(self) -> None:
        await asyncio.Event().wait()

    def look_at(self, *what: str) -> None:
        self.named.append(cast(Any, what))

    async def until_named(self, name: str, times: int) -> None:
        async def is_named() -> bool:
            return self.named.count(("nestedclasses", "", name)) == times

        await eventually(is_named)


async def test_kopf_names_what_changes_and_its_watch_goes_on(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    listener, stop = Listener(lonely), asyncio.Event()
    kopf = asyncio.create_task(handlers.run(cast(Operator, listener), stop))
    before = await count_watches(lonely)
    for name in ("listed", "new"):
        await lonely.patch(kinds.CRD, "nestedclasses.nestor.dev", None, {"metadata": {"labels": {"changed-for": name}}})
        await lonely.apply(kinds.NESTED_CLASS, build_class(name))
        await listener.until_named(name, 1)
        await lonely.patch(kinds.NESTED_CLASS, name, None, {"metadata": {"labels": {"is": "changed"}}})
        await listener.until_named(name, 2)
        await lonely.delete(kinds.NESTED_CLASS, name)
        await listener.until_named(name, 3)
    assert await count_watches(lonely) == before
    stop.set()
    await kopf


async def count_watches(api: Api) -> float:
    """How many watches of classes have ended."""
    async with api.open("GET", "/metrics") as answer:
        lines = (await answer.content.read()).decode().splitlines()
    mine = [line for line in lines if line.startswith("apiserver_request_total{") and 'resource="nestedclasses"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in mine if 'verb="WATCH"' in line)
