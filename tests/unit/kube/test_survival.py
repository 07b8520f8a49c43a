"""What an informer cannot read, or a handler cannot bear, does not end it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from nestor.kube import Api, Change, Informer, informer, kinds
from tests.fakes.api import MemoryApi
from tests.waiting import eventually

Object = dict[str, Any]


@contextlib.asynccontextmanager
async def running(cache: Informer) -> AsyncIterator[None]:
    """The informer, which must still run at the end."""
    task = asyncio.create_task(cache.run())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def put(api: MemoryApi, name: str) -> None:
    api.put(kinds.CONFIG_MAP, {"metadata": {"name": name, "namespace": "shop"}})


async def test_a_handler_that_fails_at_one_object_hears_of_the_others_and_so_do_the_other_handlers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api, heard, all_heard = MemoryApi(), [], []
    cache = Informer(cast(Api, api), kinds.CONFIG_MAP)

    def fail_at_one(change: Change) -> None:
        if change.key[1].startswith("bad"):
            raise TypeError("unhashable type")
        heard.append(change.key[1])

    cache.on_change(fail_at_one)
    cache.on_change(lambda change: all_heard.append(change.key[1]))
    put(api, "bad")
    put(api, "good")
    async with running(cache):
        await eventually(_returns(lambda: sorted(all_heard) == ["bad", "good"]))
        put(api, "bad-too")
        put(api, "good-too")
        await eventually(_returns(lambda: all_heard[2:] == ["bad-too", "good-too"]))
    assert heard == ["good", "good-too"]
    assert "configmaps shop/bad: this" in caplog.text


def _returns(look: Any) -> Any:
    async def ask() -> bool:
        return bool(look())

    return ask


ITEM: Object = {"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "1"}}


class OddApi(MemoryApi):
    """A server of somebody else's, which answers once with what no API server says."""

    def __init__(self, items: Any, *events: Any) -> None:
        super().__init__()
        self.host = "https://127.0.0.1:6443"
        self._items = items
        self._events = list(events)
        self.lists = self.watches = self.open = 0
        self.open_at_lists: list[int] = []
        """How many watches were open at each list."""

    async def request(self, method: str, path: str, query: dict[str, str] | None = None, *_: Any, **__: Any) -> Object:
        """The first list, and normal ones."""
        self.lists += 1
        self.open_at_lists.append(self.open)
        return {"metadata": {"resourceVersion": "1"}, "items": self._items if self.lists == 1 else [ITEM]}

    async def watch(self, *_: Any) -> AsyncIterator[Object]:
        """The events, and no end."""
        self.watches += 1
        self.open += 1
        try:
            while self._events:
                yield self._events.pop(0)
            await asyncio.Event().wait()
        finally:
            self.open -= 1


@pytest.mark.parametrize(
    ("items", "events"),
    [
        (5, []),
        ([1], []),
        ([{}], []),
        ([{"metadata": 1}], []),
        ([{"metadata": {}}], []),
        ([], [{}]),
        ([], [1]),
        ([], [{"type": "ADDED", "object": {}}]),
        ([], [{"type": "ADDED", "object": {"metadata": {"resourceVersion": "2"}}}]),
        ([], [{"type": "ADDED", "object": {"metadata": {"resourceVersion": "2", "name": []}}}]),
    ],
    ids=str,
)
async def test_what_is_no_object_is_asked_for_again(items: Any, events: list[Any]) -> None:
    api = OddApi(items, *events)
    cache = Informer(cast(Api, api), kinds.CONFIG_MAP)
    async with running(cache):
        await eventually(_returns(lambda: cache.get("web", "shop") is not None))
    assert api.lists == 2


async def test_more_objects_than_are_kept_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "find_pause", lambda *_: 0.0)
    many = [{"metadata": {"name": f"web-{number}", "resourceVersion": "1"}} for number in range(4)]
    api = OddApi(many, {"type": "ADDED", "object": many[1]}, {"type": "ADDED", "object": many[2]})
    cache = Informer(cast(Api, api), kinds.CONFIG_MAP, most=2)
    async with running(cache):
        await eventually(_returns(lambda: api.watches == 2))
    assert api.lists == 2
    assert sorted(name for _, name in cache.store) == ["web", "web-1"]


async def test_a_watch_that_cannot_be_read_is_closed_before_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "find_pause", lambda *_: 0.0)
    api = OddApi([], *({"type": "ADDED", "object": {}} for _ in range(3)))
    async with running(Informer(cast(Api, api), kinds.CONFIG_MAP)):
        await eventually(_returns(lambda: api.watches == 4))
    assert api.open_at_lists == [0, 0, 0, 0]
