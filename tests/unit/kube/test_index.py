"""The index of cached objects."""

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


def tell(index: Index[str], name: str, service: str | None) -> None:
    """The object belongs to that service from now on."""
    index._take(Change(("n", name), None, slice_of(service, name)))


def end(index: Index[str], name: str, service: str) -> None:
    """It is deleted; its final state belonged to that service."""
    index._take(Change(("n", name), slice_of(service, name), None))


def names(index: Index[str], key: str) -> list[str]:
    return [item["metadata"]["name"] for item in index.all(key)]


def test_objects_are_found_by_their_key_while_they_have_it(index: Index[str]) -> None:
    for name, service in (("x", "web"), ("y", "web"), ("z", "db")):
        tell(index, name, service)
    assert (names(index, "web"), names(index, "db"), index.get("other")) == (["x", "y"], ["z"], None)
    end(index, "x", "web")
    tell(index, "y", "db")
    assert (names(index, "web"), names(index, "db")) == ([], ["z", "y"])
    tell(index, "z", None)
    end(index, "z", "db")
    # A deletion that was missed with a change before it brings the object's final state only.
    end(index, "y", "web")
    assert (index._found, index._keys) == ({}, {})


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
