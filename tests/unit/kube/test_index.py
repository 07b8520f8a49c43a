"""The index of cached objects."""

from __future__ import annotations

from typing import cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Change, Informer, kinds
from nestor.kube.index import Index


def slice_of(service: str | None, name: str = "x") -> Object:
    labels = {"service": service} if service else {}
    return {"metadata": {"namespace": "n", "name": name, "labels": labels}}


def by_service(item: Object) -> str | None:
    return cast(str | None, item["metadata"]["labels"].get("service"))


@pytest.fixture
def index() -> Index[str]:
    return Index(Informer(cast(Api, None), kinds.ENDPOINT_SLICE), by_service)


def tell(index: Index[str], old: Object | None, new: Object | None, name: str = "x") -> None:
    index._take(Change(("n", name), old, new))


def names(index: Index[str], key: str) -> list[str]:
    return [item["metadata"]["name"] for item in index.all(key)]


def test_objects_are_found_by_their_key(index: Index[str]) -> None:
    tell(index, None, slice_of("web"))
    tell(index, None, slice_of("web", "y"), "y")
    tell(index, None, slice_of("db", "z"), "z")
    assert names(index, "web") == ["x", "y"]
    assert names(index, "db") == ["z"]
    assert index.all("other") == []
    assert index.get("other") is None


def test_a_deleted_object_is_not_found_any_more(index: Index[str]) -> None:
    tell(index, None, slice_of("web"))
    tell(index, None, slice_of("web", "y"), "y")
    tell(index, slice_of("web"), None)
    assert names(index, "web") == ["y"]


def test_an_object_moves_when_its_key_changes(index: Index[str]) -> None:
    tell(index, None, slice_of("web"))
    tell(index, slice_of("web"), slice_of("db"))
    assert names(index, "web") == []
    assert names(index, "db") == ["x"]


def test_an_object_that_loses_its_key_is_left_out(index: Index[str]) -> None:
    tell(index, None, slice_of("web"))
    tell(index, slice_of("web"), slice_of(None))
    assert names(index, "web") == []
    tell(index, slice_of(None), None)
    assert names(index, "web") == []


def test_an_object_goes_though_its_last_state_has_another_key(index: Index[str]) -> None:
    """A deletion that was missed with a change before it brings the object's final state only."""
    tell(index, None, slice_of("web"))
    tell(index, slice_of("db"), None)
    assert names(index, "web") == []
    assert names(index, "db") == []


def test_the_newest_state_is_found(index: Index[str]) -> None:
    tell(index, None, slice_of("web"))
    newest = slice_of("web") | {"endpoints": []}
    tell(index, slice_of("web"), newest)
    assert index.get("web") == newest


def test_what_is_cached_already_is_found_and_news_before_others_hear_of_them() -> None:
    informer = Informer(cast(Api, None), kinds.ENDPOINT_SLICE)
    informer.store[("n", "x")] = slice_of("web")
    seen: list[list[str]] = []
    informer.on_change(lambda _: seen.append(names(made, "web")))
    made = Index(informer, by_service)
    assert names(made, "web") == ["x"]
    informer._set(("n", "y"), slice_of("web", "y"))
    informer._set(("n", "x"), None)
    assert seen == [["x", "y"], ["y"]]


def test_nothing_is_kept_of_keys_that_are_gone(index: Index[str]) -> None:
    for service in ("a", "b", "c"):
        tell(index, None, slice_of(service))
        tell(index, slice_of(service), None)
    assert (index._found, index._keys) == ({}, {})
