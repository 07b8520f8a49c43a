"""What a server answers to a write of ours is in the cache before the watch brings it, and nothing older comes after it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Change, Informer, kinds, pages
from nestor.kube.informer import GONE_REMEMBERED


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

    @property
    def version(self) -> str | None:
        """What is in the cache."""
        found = self.informer.get("web", "shop")
        return found["metadata"]["resourceVersion"] if found else None


def test_an_answer_is_told_at_once_and_the_watch_does_not_repeat_it() -> None:
    cache = Cache()
    cache.hear(build("1"), "ADDED")
    cache.informer.put(build("9"))
    cache.hear(build("9"))
    assert (cache.version, cache.told) == ("9", ["1", "9"])
    assert cache.informer.get("web", "shop") == build("9") | {"apiVersion": "v1", "kind": "Pod"}


def test_the_watch_takes_nothing_back_that_came_with_an_answer() -> None:
    cache = Cache()
    cache.hear(build("1"), "ADDED")
    cache.informer.put(build("10"))
    cache.hear(build("9"))
    assert cache.version == "10"
    cache.hear(build("11"))
    assert (cache.version, cache.told) == ("11", ["1", "10", "11"])


@pytest.mark.parametrize("answer", [build("7"), build("8"), build("x")])
def test_an_answer_that_is_not_newer_is_not_taken(answer: Object) -> None:
    cache = Cache()
    cache.hear(build("8"), "ADDED")
    cache.informer.put(answer)
    assert (cache.version, cache.told) == ("8", ["8"])


def test_an_answer_brings_nothing_back_that_is_gone() -> None:
    cache = Cache()
    cache.hear(build("1"), "ADDED")
    cache.hear(build("9"), "DELETED")
    cache.informer.put(build("8"))
    assert (cache.version, cache.told) == (None, ["1", "gone"])
    cache.hear(build("10", uid="b"), "ADDED")
    cache.informer.put(build("12"))
    assert cache.version == "10"


def test_a_deletion_is_heard_whatever_was_answered() -> None:
    cache = Cache()
    cache.hear(build("1"), "ADDED")
    cache.informer.put(build("9"))
    cache.hear(build("9"), "DELETED")
    assert cache.version is None


def test_a_successor_of_the_same_name_is_heard() -> None:
    cache = Cache()
    cache.hear(build("1"), "ADDED")
    cache.informer.put(build("9"))
    cache.hear(build("3", uid="b"))
    assert cache.version == "3"


def test_the_end_of_one_object_is_not_that_of_its_successor() -> None:
    cache = Cache()
    cache.hear(build("1"), "ADDED")
    cache.informer.put(build("12", uid="b"))
    cache.hear(build("11"), "DELETED")
    assert (cache.version, cache.told) == ("12", ["1", "12"])
    assert not cache.informer.put(build("10"))


def test_what_leaves_the_selection_and_returns_is_followed_as_before() -> None:
    cache = Cache()
    for version in (1, 11):
        cache.hear(build(str(version)), "ADDED")
        assert cache.informer.put(build(str(version + 1)))
        cache.hear(build(str(version + 2)), "DELETED")
    assert (cache.version, cache.told) == (None, ["1", "2", "gone", "11", "12", "gone"])


def test_what_an_answer_tells_of_first_is_known_and_so_is_a_successor() -> None:
    cache = Cache()
    assert cache.informer.put(build("9"))
    cache.hear(build("9"), "ADDED")
    assert (cache.version, cache.told) == ("9", ["9"])
    assert cache.informer.put(build("12", uid="b"))
    assert not cache.informer.put(build("10")), "its successor is known"
    assert cache.version == "12"


async def test_a_list_takes_nothing_back_that_was_answered_while_it_was_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache()

    async def read(*_: Any) -> Any:
        cache.informer.put(build("9"))
        cache.informer.put(build("8", uid="new") | {"metadata": build("8", uid="new")["metadata"] | {"name": "new"}})
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
