"""Only nodes in use are watched and kept, and of these only what is read."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Change, kinds
from nestor.syncer.view import nodes
from nestor.syncer.view.nodes import HostNodes
from tests.fakes.api import MemoryApi
from tests.waiting import comes_true


def node(name: str, **status: Any) -> Object:
    """A host node as its kubelet describes it."""
    return {
        "metadata": {"name": name, "labels": {"zone": "a"}, "managedFields": [{"manager": "kubelet"}]},
        "spec": {},
        "status": {"capacity": {"cpu": "8"}, "images": [{"names": ["secret/image:1"]}], "volumesInUse": ["x"], **status},
    }


class Watched:
    def __init__(self, host: MemoryApi) -> None:
        self.host = host
        self.cache = HostNodes(cast(Api, host), kinds.NODE)
        self.told: list[tuple[str, str]] = []
        self.cache.on_change(self._take)

    def _take(self, change: Change) -> None:
        self.told.append(("gone" if change.new is None else "there", change.key[1]))

    @property
    def names(self) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.cache)

    async def until(self, *names: str) -> None:
        await self.wait(lambda: self.names == sorted(names) and all(self.cache.knows(name) for name in names))

    async def wait(self, check: Callable[[], bool]) -> None:
        await comes_true(check, limit=10)


@contextlib.asynccontextmanager
async def watching(host: MemoryApi) -> AsyncIterator[Watched]:
    made = Watched(host)
    task = asyncio.create_task(made.cache.run())
    try:
        await made.cache.synced.wait()
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def host() -> MemoryApi:
    made = MemoryApi()
    for number in range(10):
        made.put(kinds.NODE, node(f"n{number}"))
    return made


async def test_what_is_wanted_is_followed_and_nothing_else(host: MemoryApi) -> None:
    async with watching(host) as made:
        assert made.names == []
        made.cache.want(["n1", "n2"])
        assert not made.cache.knows("n1")
        await made.until("n1", "n2")
        host.put(kinds.NODE, node("n3", capacity={"cpu": "9"}))
        host.put(kinds.NODE, node("n1", capacity={"cpu": "9"}))
        await made.until("n1", "n2")
        await made.wait(lambda: (made.cache.get("n1") or {})["status"] == {"capacity": {"cpu": "9"}})
        assert (made.cache.get("n1") or {})["metadata"].keys() >= {"name", "labels"}
        assert "managedFields" not in (made.cache.get("n1") or {})["metadata"]
        assert sorted(set(made.told)) == [("there", "n1"), ("there", "n2")]


@pytest.mark.parametrize("limit", [0, 50])
async def test_a_node_that_goes_is_told_and_one_that_is_no_longer_wanted_is_not(
    host: MemoryApi, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "WATCH_LIMIT", limit)
    async with watching(host) as made:
        made.cache.want(["n1", "n2", "absent"])
        await made.until("n1", "n2")
        await made.wait(lambda: made.cache.knows("absent"))
        assert made.cache.get("absent") is None
        host.drop(kinds.NODE, "n1")
        made.cache.want(["n1", "n2"])
        await made.until("n2")
        made.cache.want(["n1"])
        await made.until()
        assert [item for item in made.told if item[0] == "gone"] == [("gone", "n1")]
        assert not made.cache.knows("n2")
        made.cache.want(["n2"])
        await made.until("n2")


async def test_many_are_watched_together(host: MemoryApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """And few one by one again: nothing is told twice, and nothing that is gone stays."""
    monkeypatch.setattr(nodes, "WATCH_LIMIT", 3)
    async with watching(host) as made:
        made.cache.want(["n1", "n2", "n3"])
        await made.until("n1", "n2", "n3")
        assert len(host._watches) == 3
        made.cache.want(f"n{number}" for number in range(5))
        await made.until("n0", "n1", "n2", "n3", "n4")
        assert len(host._watches) == 1
        made.cache.want(f"n{number}" for number in range(6))
        await made.until("n0", "n1", "n2", "n3", "n4", "n5")
        host.drop(kinds.NODE, "n1")
        await made.until("n0", "n2", "n3", "n4", "n5")
        made.cache.want(["n1", "n2"])
        await made.until("n2")
        assert len(host._watches) == 2


async def test_the_watch_that_is_silent_for_longest_tells(host: MemoryApi) -> None:
    async with watching(host) as made:
        assert made.cache.silence == 0
        made.cache.want(["n1", "n2"])
        await made.until("n1", "n2")
        made.cache._watches["", "metadata.name=n2"].last_contact -= 1000
        assert 1000 <= made.cache.silence < 1100


@pytest.mark.parametrize("selector", ["!backend", "zone in (a,b),!backend"])
async def test_all_that_a_selector_matches_are_kept_by_one_watch(host: MemoryApi, selector: str) -> None:
    host.put(kinds.NODE, node("virtual") | {"metadata": {"name": "virtual", "labels": {"zone": "a", "backend": "x"}}})
    async with watching(host) as made:
        assert made.cache.is_complete
        made.cache.want(["n1"])
        made.cache.select(selector)
        assert not made.cache.is_complete
        await made.wait(lambda: made.cache.is_complete)
        assert made.names == [f"n{number}" for number in range(10)]
        await made.wait(lambda: len(host._watches) == 1)
        host.put(kinds.NODE, node("n10"))
        host.drop(kinds.NODE, "n2")
        await made.until("n0", "n1", *(f"n{number}" for number in range(3, 11)))
        assert made.told.count(("there", "n10")) == 1
        assert [item for item in made.told if item[0] == "gone"] == [("gone", "n2")]


async def test_a_wanted_node_that_leaves_the_selection_is_followed_by_name(host: MemoryApi) -> None:
    async with watching(host) as made:
        made.cache.select("zone=a")
        made.cache.want(["n1", "n2"])
        await made.wait(lambda: len(made.names) == 10)
        for name in ("n1", "n3"):
            host.put(kinds.NODE, node(name) | {"metadata": {"name": name, "labels": {"zone": "b"}}})
        await made.until("n0", "n1", "n2", *(f"n{number}" for number in range(4, 10)))
        assert (made.cache.get("n1") or {})["metadata"]["labels"] == {"zone": "b"}
        host.drop(kinds.NODE, "n1")
        await made.wait(lambda: "n1" not in made.names)
        assert made.cache.knows("n1")


async def test_without_a_selection_only_what_is_wanted_stays(host: MemoryApi) -> None:
    async with watching(host) as made:
        made.cache.select("zone=a")
        made.cache.want(["n1"])
        await made.wait(lambda: len(made.names) == 10)
        made.cache.select(None)
        await made.until("n1")
        assert [item for item in made.told if item[0] == "gone"] == []
        assert len(host._watches) == 1
