"""Live parts: what a page is sent, and when."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from nestor.clients.ui import frame
from nestor.clients.ui.guard import HEADERS
from nestor.clients.ui.models.jobs import Choice
from nestor.clients.ui.pages.lists import keep_row
from nestor.clients.ui.server import build_app
from nestor.clients.ui.visitor import Hub, Visitor, find_always
from nestor.kube import Api, Forbidden, Unreachable, UserContext
from tests.unit.clients.cli import builders

Events = AsyncIterator[tuple[str, dict[str, Any]]]


class Rows:
    """The page of jobs, filled by a test."""

    template = "jobs.html"

    def __init__(self) -> None:
        self.content: dict[str, Any] = {"rows": [], "count": 1, "total": 1, "choice": Choice("team-a"), "trouble": None}
        self.tell: Callable[[], None] = lambda: None
        self.opened = 0
        self.has_moved = False
        self.error: Exception | None = None

    @contextlib.asynccontextmanager
    async def open(self, _: Visitor, on_change: Callable[[], None]) -> AsyncIterator[frame.Read]:
        self.opened += 1
        self.tell = on_change
        yield self.read

    def read(self) -> dict[str, Any]:
        """Once, other lists are needed."""
        if self.error is not None:
            raise self.error
        if self.has_moved:
            self.has_moved = False
            raise frame.Moved
        return self.content


Told = tuple[Rows, Events]


@pytest.fixture
async def rows(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Told]:
    """A page, and what its browser is told."""
    view = Rows()
    api = cast(Api, object())
    visitor = Visitor(api, Hub(api), UserContext("here", "team-a", None), "jane")
    monkeypatch.setattr(frame, "SETTLE_SECONDS", 0)
    monkeypatch.setattr(frame, "INTERVAL_SECONDS", 0)
    async with serve(view, visitor) as server, ClientSession() as session, session.get(server.make_url("/test")) as answer:
        assert visitor.is_busy
        yield view, read_events(answer.content)


def serve(view: Rows, visitor: Visitor) -> TestServer:
    app = build_app(find_always(visitor))

    async def stream(request: web.Request) -> web.StreamResponse:
        return await frame.stream(request, view)

    app.router.add_get("/test", stream)
    return TestServer(app)


async def read_events(content: Any) -> Events:
    """What a live page is told."""
    kind = ""
    async for raw in content:
        key, _, value = raw.decode().strip().partition(": ")
        if key == "event":
            kind = value
        elif key == "data":
            yield kind, json.loads(value)


async def coming(events: Events) -> tuple[str, dict[str, Any]]:
    async with asyncio.timeout(20):
        return await anext(events)


@pytest.mark.parametrize(
    ("began", "ended", "now", "pause"),
    [
        (0.0, 0.0, 60.0, 0.1),  # after a quiet time, at once
        (0.0, 0.0, 0.2, 0.8),
        (0.0, 0.1, 60.0, 0.6),
        (0.0, 0.1, 0.2, 1.3),
    ],
)
def test_what_changes_all_the_time_is_written_less_often(began: float, ended: float, now: float, pause: float) -> None:
    assert frame.find_pause(began, ended, now) == pytest.approx(pause)


async def test_a_part_is_sent_when_it_differs_and_only_then(rows: Told) -> None:
    view, events = rows
    kind, content = await coming(events)
    assert (kind, content["id"]) == ("part", "live_rows")
    assert content["digest"] == frame.digest(content["html"])
    view.tell()
    view.content = view.content | {"rows": [keep_row(builders.ready())["row"]]}
    view.tell()
    kind, content = await coming(events)
    assert ">shop</a>" in content["html"]


async def test_other_lists_are_looked_at_when_they_are_needed(rows: Told) -> None:
    view, events = rows
    await coming(events)
    view.has_moved = True
    view.content = view.content | {"rows": [keep_row(builders.ready())["row"]]}
    view.tell()
    assert ">shop</a>" in (await coming(events))[1]["html"]
    assert view.opened == 2


async def test_what_may_be_old_is_told_once_and_that_it_is_over(rows: Told) -> None:
    view, events = rows
    await coming(events)
    trouble = Unreachable("connection refused")
    for state, said in ((trouble, "This page may be out of date. Connection refused."), (None, "")):
        view.content = view.content | {"trouble": state}
        view.tell()
        assert await coming(events) == ("trouble", {"message": said})


async def test_who_may_no_longer_look_is_told_why_and_sent_nothing_more(rows: Told) -> None:
    view, events = rows
    await coming(events)
    view.content = view.content | {
        "trouble": Forbidden(403, "Forbidden", "not any more"),
        "rows": [keep_row(builders.ready())["row"]],
    }
    view.tell()
    kind, content = await coming(events)
    assert (kind, content["message"]) == ("problem", "Not any more.")
    assert [event async for event in events] == []


@pytest.mark.parametrize("error", [Unreachable("connection refused"), TimeoutError()])
async def test_who_could_not_look_this_time_asks_again(rows: Told, error: Exception) -> None:
    view, events = rows
    await coming(events)
    view.error = error
    view.tell()
    kind, content = await coming(events)
    assert kind == "trouble"
    assert content["message"].startswith("This page may be out of date.")
    assert [event async for event in events] == []


async def test_one_visitor_keeps_so_many_pages_open_and_counts_as_busy_until_they_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frame, "MOST_STREAMS", 2)
    view, api = Rows(), cast(Api, object())
    visitor = Visitor(api, Hub(api), UserContext("here", "team-a", None), "jane")
    async with serve(view, visitor) as server, ClientSession() as session:
        answers = [await session.get(server.make_url("/test")) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert "close some of them" in await answers[2].text()
        assert (visitor.streams, visitor.is_busy) == (2, True)
        for answer in answers:
            assert (HEADERS | {"Cache-Control": "no-store"}).items() <= answer.headers.items(), "as whole pages have"
            answer.close()
    assert (visitor.streams, visitor.is_busy) == (0, False)
