"""Watches that pages share."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from nestor.clients.ui import visitor
from nestor.clients.ui.visitor import Hub, List
from nestor.kube import Api, ApiError, Forbidden, informer, kinds
from tests.waiting import eventually

Object = dict[str, Any]
JOBS = List(kinds.NESTED_APP_JOB, "team-a")
ITEM: Object = {"metadata": {"name": "shop", "namespace": "team-a", "resourceVersion": "1", "managedFields": [{}]}}


def nobody() -> None:
    """Is told of changes."""


class OneJob:
    """An API server with one job, that lets its user see it as long as `refusal` is None."""

    host = "https://127.0.0.1:6443"

    def __init__(self) -> None:
        self.refusal: ApiError | None = None
        self.watches = self.open = 0
        self.ending = asyncio.Event()

    async def request(self, *_: Any, parse: Callable[[bytes], Object] = json.loads, **__: Any) -> Object:
        if self.refusal:
            raise self.refusal
        return parse(json.dumps({"metadata": {"resourceVersion": "1"}, "items": [ITEM]}).encode())

    async def watch(self, *_: Any) -> AsyncIterator[Object]:
        """Nothing happens until `ending` is set; then the version is too old."""
        self.watches += 1
        self.open += 1
        try:
            if await self.ending.wait():
                raise self.refusal or ApiError(500, "", "it ends")
            yield {}
        finally:
            self.open -= 1


async def is_true(look: Any) -> None:
    async def ask() -> bool:
        return bool(look())

    await eventually(ask)


async def test_two_pages_share_a_watch_which_ends_after_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "KEEP_SECONDS", 0)
    api = OneJob()
    shared = Hub(cast(Api, api))
    async with shared.use(JOBS, nobody) as one, shared.use(JOBS, nobody) as other:
        assert one is other
        found = one.get("shop", "team-a")
        assert found is not None
        assert "managedFields" not in found["metadata"]
        await is_true(lambda: api.watches == 1)
    await is_true(lambda: len(shared._watches) == 0 and api.open == 0)
    assert api.watches == 1


async def test_a_page_that_follows_another_one_finds_its_watch() -> None:
    api = OneJob()
    shared = Hub(cast(Api, api))
    for _ in range(3):
        async with shared.use(JOBS, nobody):
            await is_true(lambda: api.watches == 1)
    assert len(shared._watches) == 1
    await shared.close()
    assert (len(shared._watches), api.open) == (0, 0)


async def test_who_may_not_see_a_list_is_told_and_leaves_no_watch() -> None:
    api = OneJob()
    api.refusal = Forbidden(403, "Forbidden", "no")
    shared = Hub(cast(Api, api))
    with pytest.raises(Forbidden):
        async with shared.use(JOBS, nobody):
            pass
    assert len(shared._watches) == 0


async def test_who_may_no_longer_see_a_list_is_not_shown_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "find_pause", lambda *_: 0.01)
    api = OneJob()
    shared = Hub(cast(Api, api))
    async with shared.use(JOBS, nobody) as found:
        api.refusal = Forbidden(403, "Forbidden", "no")
        api.ending.set()
        await is_true(lambda: found.trouble is api.refusal)
        with pytest.raises(Forbidden):
            async with shared.use(JOBS, nobody):
                pass
        api.refusal = None
        await is_true(lambda: found.trouble is None or found.trouble.is_transient)
        async with shared.use(JOBS, nobody) as again:
            assert again is found
    await shared.close()


async def test_there_is_an_end_to_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "WATCHES", 2)
    shared = Hub(cast(Api, OneJob()))
    a, b, c = (List(kinds.NESTED_APP_JOB, name) for name in "abc")
    async with shared.use(a, nobody):
        async with shared.use(b, nobody):
            with pytest.raises(ApiError, match="too many"):
                async with shared.use(c, nobody):
                    pass
        async with shared.use(c, nobody):
            assert len(shared._watches) == 2
    await shared.close()
