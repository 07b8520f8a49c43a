"""What a pass knows and may do: contexts, classes, results, and how the host is watched."""

import math
from dataclasses import replace
from typing import cast

import pytest

from nestor.api.class_choice import find_class_name, find_default
from nestor.cluster.shape import Host
from nestor.kube import Api, Informer, Kind, NotFound, Unreachable, kinds
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Classes, Context, Result
from nestor.operator.world.host_facts import keep_host
from nestor.operator.world.trim import TRIMS
from tests.unit.operator.builders import IMAGES, Object, build_policy

GOOD = build_policy().model_dump(by_alias=True, exclude_none=True)


def build(name: str, spec: Object, version: str = "1") -> Object:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": version}, "spec": spec}


def build_store() -> Informer:
    return Informer(cast(Api, None), kinds.NESTED_CLASS, trim=TRIMS[kinds.NESTED_CLASS])


def test_a_class_that_does_not_fit_is_absent_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    store = build_store()
    store.put(build("good", GOOD))
    store.put(build("bad", {"access": "Nobody"}))
    unreadable = build("unreadable", GOOD)
    store.put(unreadable | {"metadata": unreadable["metadata"] | {"labels": ["x"]}})
    classes = Classes(store, IMAGES)
    assert classes.all() == {"good": build_policy()}
    assert set(classes.all()) == {"good"}
    said = ["NestedClass 'bad' is invalid", "NestedClass 'unreadable' is ignored"]
    assert [record.message.split(":")[0] for record in caplog.records] == said


def test_a_class_is_parsed_again_when_it_changes_and_only_then() -> None:
    store = build_store()
    store.put(build("one", GOOD))
    classes = Classes(store, IMAGES)
    first = classes.all()["one"]
    assert classes.all()["one"] is first
    store.put(build("one", GOOD | {"namespace": {"podSecurity": "Privileged"}}, "2"))
    assert classes.all()["one"].namespace.pod_security == "Privileged"
    store._set(("", "one"), None)
    assert classes.all() == {}


@pytest.mark.parametrize(
    ("said", "offered"),
    [
        (None, ["v1.37", "v1.36", "v1.9"]),
        (["v1.9", "v1.37"], ["v1.9", "v1.37"]),
        (["v1.30", "v1.36"], ["v1.36"]),
        (["v1.30"], []),
    ],
)
def test_a_class_offers_of_its_versions_those_for_which_there_is_an_image(said: list[str] | None, offered: list[str]) -> None:
    store = build_store()
    store.put(build("one", {"cluster": {"versions": said}} if said else {}))
    assert Classes(store, IMAGES).all()["one"].cluster.versions == offered


def marked(name: str, created: str = "2026-01-01T00:00:00Z", mark: str | None = "true") -> Object:
    """A class that may be the default one."""
    annotations = {"nestedclass.nestor.dev/is-default-class": mark} if mark is not None else {}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}, "spec": GOOD}


LATER = "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "default"),
    [
        ([], "default"),
        ([marked("default", mark=None), marked("gold", mark=None)], "default"),
        ([marked("default", mark=None), marked("gold")], "gold"),
        ([marked("default", mark=None), marked("gold", mark="false")], "default"),
        ([marked("gold"), marked("silver", LATER)], "silver"),
        ([marked("silver", LATER), marked("gold")], "silver"),
        ([marked("silver"), marked("gold")], "gold"),
        ([marked("gold"), marked("default", LATER)], "gold"),
    ],
)
def test_the_default_class_is_the_newest_with_the_annotation(classes: list[Object], default: str) -> None:
    assert find_default(classes) == default


def test_the_annotation_is_kept_in_the_cache() -> None:
    store = build_store()
    gold = marked("gold")
    store.put(gold | {"metadata": gold["metadata"] | {"uid": "g", "resourceVersion": "1"}})
    assert Classes(store, IMAGES).default == "gold"


@pytest.mark.parametrize(
    ("spec", "status", "name"),
    [
        ({"className": "gold"}, {}, "gold"),
        ({}, {"className": "silver"}, "silver"),
        ({}, {}, "bronze"),
        ({"className": None}, {"className": None}, "bronze"),
        ({"className": "gold"}, {"className": "gold"}, "gold"),
    ],
)
def test_a_job_keeps_the_class_that_it_was_given(spec: Object, status: Object, name: str) -> None:
    store = build_store()
    store.put(build("gold", GOOD))
    assert find_class_name({"spec": spec, "status": status}, "bronze") == name
    assert (Classes(store, IMAGES).of({"spec": spec, "status": status}) is not None) is (name == "gold")


@pytest.mark.parametrize(
    ("result", "wishes", "expected"),
    [
        (Result(), (), None),
        (Result(), (None,), None),
        (Result(), (5, None, 3), 3),
        (Result(4), (5, None), 4),
        (Result(600), (math.inf, 10), 10),
        (Result(0), (1,), 0),
        (Result(9, "refused", ValueError()), (1,), 1),
    ],
)
def test_the_earliest_wish_counts(result: Result, wishes: tuple[float | None, ...], expected: float | None) -> None:
    assert result.within(*wishes) == replace(result, retry_after=expected)


class FakeApi:
    """A host with these API addresses, one list after the other; None: it does not answer."""

    def __init__(self, *addresses: list[str] | None, has_range: bool = True) -> None:
        self.addresses = list(addresses)
        self.has_range = has_range

    async def get(self, kind: Kind, name: str) -> Object:
        if not self.has_range:
            raise NotFound(404, "NotFound", "no")
        return {"spec": {"cidrs": ["10.43.0.0/16"]}}

    async def list(self, kind: Kind, namespace: str, *, labels: str) -> list[Object]:
        found = self.addresses.pop(0)
        if found is None:
            raise Unreachable("no answer")
        return [{"addressType": "IPv4", "endpoints": [{"addresses": found}]}]


BEFORE = ["203.0.113.7"]


@pytest.mark.parametrize(
    ("answers", "expected", "times"),
    [
        ([BEFORE, BEFORE], BEFORE, 0),
        ([["203.0.113.8"], ["203.0.113.8"]], ["203.0.113.8"], 1),
        ([None, ["203.0.113.7", "203.0.113.8"]], ["203.0.113.7", "203.0.113.8"], 1),
        ([[], BEFORE], BEFORE, 0),
        ([["203.0.113.8"], BEFORE], BEFORE, 2),
    ],
    ids=["nothing new", "moved", "after an outage", "no endpoint for a moment", "there and back"],
)
async def test_addresses_are_followed(answers: list[list[str] | None], expected: list[str], times: int) -> None:
    api, told = cast(Api, FakeApi(*answers)), list[int]()
    context = Context.create(api, Settings(image="x"), Cache(api), Host(("10.43.0.0/16",), tuple(BEFORE)))
    await keep_host(context, lambda: told.append(1), delays=[0] * len(answers))
    assert context.host == Host(("10.43.0.0/16",), tuple(expected))
    assert len(told) == times


async def test_a_range_that_cannot_be_read_any_more_stays() -> None:
    api, host = cast(Api, FakeApi(BEFORE, has_range=False)), Host(("10.43.0.0/16",), tuple(BEFORE))
    context = Context.create(api, Settings(image="x"), Cache(api), host)
    await keep_host(context, lambda: pytest.fail("nothing changed"), delays=[0])
    assert context.host is host
