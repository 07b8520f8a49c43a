"""A cache: it outlives what it cannot read, knows at once what was answered, and waits between failures."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Change, Informer, informer, kinds, pages
from nestor.kube.informer import GONE_REMEMBERED, LONGEST_PAUSE_SECONDS, NEAR_PAUSE_SECONDS, find_longest_pause, find_pause
from tests.fakes.api import MemoryApi
from tests.waiting import eventually


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


class QuietApi(OddApi):
    """Its first watch ends without an event or a bookmark, as a server without a watch cache ends those of kinds that rest."""

    async def watch(self, *_: Any) -> AsyncIterator[Object]:
        self.watches += 1
        if self.watches > 1:
            await asyncio.Event().wait()
        self.cache.last_contact -= 300
        for event in self._events:
            yield event

    cache: Informer


async def test_the_end_of_a_watch_of_what_rests_is_a_sign_of_life() -> None:
    api = QuietApi([])
    api.cache = Informer(cast(Api, api), kinds.CONFIG_MAP)
    async with running(api.cache):
        await eventually(_returns(lambda: api.watches == 2))
    assert api.cache.silence < 300
    assert api.lists == 1


def build(version: str, uid: str = "a", **spec: Any) -> Object:
    """A pod."""
    return {"metadata": {"name": "web", "namespace": "shop", "uid": uid, "resourceVersion": version}, "spec": spec}


class Cache:
    """An informer, what it has told, and what is told to it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.informer = Informer(cast(Api, None), kinds.POD)
        self.informer.on_change(self._note)

    def _note(self, change: Change) -> None:
        self.told.append("gone" if change.new is None else change.new["metadata"]["resourceVersion"])

    def hear(self, item: Object, event: str = "MODIFIED") -> None:
        """The watch says so."""
        self.informer._take({"type": event, "object": item})

    def play(self, steps: str) -> None:
        """What comes from the watch and from answers, one after another: `+1` is added by the watch, in version 1; `2` changed,
        `-3` deleted; `=4` is answered to a request of ours, `!4` so that the object is known to be gone. With another UID: `=5b`.
        """
        for step in steps.split():
            found = re.fullmatch(r"([-+=!]?)([0-9x]+)([a-z]?)", step)
            assert found is not None
            item = build(found[2], uid=found[3] or "a")
            if found[1] in ("=", "!"):
                assert self.informer.put(item) is (found[1] == "="), step
            else:
                self.hear(item, {"+": "ADDED", "-": "DELETED", "": "MODIFIED"}[found[1]])

    @property
    def version(self) -> str | None:
        """What is in the cache."""
        found = self.informer.get("web", "shop")
        return found["metadata"]["resourceVersion"] if found else None


@pytest.mark.parametrize(
    ("steps", "version", "told"),
    [
        pytest.param("+1 =9 9", "9", "1 9", id="an answer is told at once, and the watch does not repeat it"),
        pytest.param("=9 +9", "9", "9", id="what an answer tells of first is known"),
        pytest.param("+1 =10 9 11", "11", "1 10 11", id="the watch takes nothing back that came with an answer"),
        pytest.param("+8 =7", "8", "8", id="an answer that is older is not taken"),
        pytest.param("+8 =8", "8", "8", id="nor one that is the same"),
        pytest.param("+8 =x", "8", "8", id="nor one that cannot be compared"),
        pytest.param("+1 -9 !8", None, "1 gone", id="an answer brings nothing back that is gone"),
        pytest.param("+1 -9 +10b !12", "10", "1 gone 10", id="nor what has a successor"),
        pytest.param("+1 =9 -9", None, "1 9 gone", id="a deletion is heard whatever was answered"),
        pytest.param("+1 =9 3b", "3", "1 9 3", id="a successor of the same name is heard"),
        pytest.param("=9 =12b !10", "12", "9 12", id="also by an answer"),
        pytest.param("+1 =12b -11 !10", "12", "1 12", id="the end of one object is not that of its successor"),
        pytest.param("+1 =2 -3 +11 =12 -13", None, "1 2 gone 11 12 gone", id="what leaves the selection and returns is followed"),
    ],
)
def test_answers_and_the_watch(steps: str, version: str | None, told: str) -> None:
    """What a server answers to a write is in the cache before the watch brings it, and nothing older comes after it."""
    cache = Cache()
    cache.play(steps)
    assert (cache.version, " ".join(cache.told)) == (version, told)


def test_an_answer_has_what_lists_leave_out() -> None:
    cache = Cache()
    cache.informer.put(build("9"))
    assert cache.informer.get("web", "shop") == build("9") | {"apiVersion": "v1", "kind": "Pod"}


async def test_a_list_takes_nothing_back_that_was_answered_while_it_was_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it was gone again by then."""
    cache = Cache()

    def name(name: str, item: Object) -> Object:
        return item | {"metadata": item["metadata"] | {"name": name}}

    async def read(*_: Any) -> Any:
        cache.informer.put(build("9"))
        cache.informer.put(name("new", build("8", uid="new")))
        cache.informer.put(name("gone", build("6", uid="gone")))
        return SimpleNamespace(items=[build("7")], version="7")

    cache.hear(build("7"), "ADDED")
    monkeypatch.setattr(pages, "read", read)
    monkeypatch.setattr(cache.informer, "api", SimpleNamespace(request=None))
    await cache.informer._list()
    assert (cache.version, sorted(name for _, name in cache.informer.store)) == ("9", ["new", "web"])


def test_what_is_remembered_of_the_gone_is_bounded() -> None:
    cache = Cache()
    for number in range(GONE_REMEMBERED + 1):
        cache.hear(build("1", uid=str(number)), "ADDED")
        cache.hear(build("1", uid=str(number)), "DELETED")
    assert not cache.informer.put(build("1", uid="1"))
    assert cache.informer.put(build("1", uid="0"))


@pytest.mark.parametrize(
    ("failures", "longest", "expected"),
    [(1, 10, 0.2), (2, 10, 0.4), (6, 10, 6.4), (7, 10, 10), (1000, 10, 10), (1, 1, 0.2), (4, 1, 1), (1000, 1, 1)],
)
def test_pauses_double_up_to_the_longest_and_vary_by_a_third(failures: int, longest: float, expected: float) -> None:
    found = [find_pause(failures, longest) for _ in range(200)]
    assert all(0.7 * expected <= pause <= 1.3 * expected for pause in found)
    assert len(set(found)) > 1


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("https://127.0.0.1:6443", NEAR_PAUSE_SECONDS),
        ("https://127.8.9.10", NEAR_PAUSE_SECONDS),
        ("https://localhost:6443", NEAR_PAUSE_SECONDS),
        ("https://[::1]:6443", NEAR_PAUSE_SECONDS),
        ("https://10.43.0.1:443", LONGEST_PAUSE_SECONDS),
        ("https://[fd00::1]", LONGEST_PAUSE_SECONDS),
        ("https://kubernetes.default.svc", LONGEST_PAUSE_SECONDS),
        ("https://127.0.0.1.evil.test", LONGEST_PAUSE_SECONDS),
    ],
)
def test_a_server_beside_us_is_asked_more_often(server: str, expected: float) -> None:
    assert find_longest_pause(server) == expected
