"""Kinds are looked for by their API version and name."""

import asyncio
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Change, Kind
from nestor.syncer.view import watches
from tests.fakes.api import MemoryApi

WIDGET = Kind("example.org", "v1", "widgets", "Widget")
RESOURCES = [
    {"name": "widgets", "kind": "Widget", "namespaced": True},
    {"name": "widgets/status", "kind": "Widget", "namespaced": True},
    {"name": "widgets/scale", "kind": "Scale", "namespaced": True},
    {"name": "planets", "kind": "Planet", "namespaced": False},
]


class Server(MemoryApi):
    """It has widgets. Whatever `answer` is, it says so when it is asked what it has."""

    def __init__(self, answer: Any) -> None:
        super().__init__(WIDGET)
        self.answer = answer

    async def request(self, method: str, path: str, *query: Any, **named: Any) -> Object:
        if query:
            return await super().request(method, path, *query, **named)
        self.asked.append(f"{method} {path}")
        found: Object = self.answer
        return found


@pytest.mark.parametrize(
    ("api_version", "name", "asked", "found"),
    [
        ("example.org/v1", "Widget", "GET /apis/example.org/v1", WIDGET),
        ("example.org/v1", "Planet", "GET /apis/example.org/v1",
         Kind("example.org", "v1", "planets", "Planet", namespaced=False)),
        ("v1", "Widget", "GET /api/v1", Kind("", "v1", "widgets", "Widget")),
        ("example.org/v1", "Scale", "GET /apis/example.org/v1", None),
        ("example.org/v1", "Nothing", "GET /apis/example.org/v1", None),
    ],
)  # fmt: skip
async def test_what_is_found(api_version: str, name: str, asked: str, found: Kind | None) -> None:
    api = Server({"resources": RESOURCES})
    assert await watches.discover(api, api_version, name) == found  # type: ignore[arg-type]
    assert api.asked == [asked]


ODD = [1, {"kind": "Widget"}, {"name": [], "kind": "Widget"}]


@pytest.mark.parametrize("answer", [[1], 5, {"resources": 5}, {"resources": ODD}])
async def test_a_server_of_the_tenant_s_own_may_answer_anything(answer: Any) -> None:
    api = Server(answer)
    assert await watches.discover(api, "example.org/v1", "Widget") is None  # type: ignore[arg-type]


@pytest.mark.parametrize("api_version", ["", "../../api/v1", "a/b/v1", "example.org/../v1", "example.org/", "/v1", "v1?watch=1"])
async def test_what_would_be_another_path_is_not_asked_for(api_version: str) -> None:
    api = Server({"resources": RESOURCES})
    assert await watches.discover(api, api_version, "Widget") is None  # type: ignore[arg-type]
    assert api.asked == []


async def test_a_late_kind_is_missing_for_none_of_its_selections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "_RETRY_SECONDS", 0.001)
    api, told = Server({"resources": []}), asyncio.Event()

    def tell(selection: watches.Selection, change: Change | None) -> None:
        told.set()

    one, other = (watches.Selection("example.org/v1", "Widget", name=name) for name in ("one", "other"))
    watched = watches.Watches(api, tell)  # type: ignore[arg-type]
    watched.want([one, other])
    running = asyncio.create_task(watched.run())
    async with asyncio.timeout(10):
        while not (watched.is_missing(one) and watched.is_missing(other)):
            await told.wait()
            told.clear()
        api.answer = {"resources": RESOURCES}
        while watched.find(one) is None or watched.find(other) is None:
            await told.wait()
            told.clear()
    assert not watched.is_missing(one)
    assert not watched.is_missing(other)
    running.cancel()
