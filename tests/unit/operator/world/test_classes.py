"""Classes are parsed once per version; an invalid one is treated as absent."""

from __future__ import annotations

import pytest

from nestor.operator.world.cache import Store
from nestor.operator.world.classes import Classes
from nestor.operator.world.trim import trim_class
from tests.unit.operator.builders import Object, build_policy

GOOD = build_policy().model_dump(by_alias=True, exclude_none=True)


def build(name: str, spec: Object, version: str = "1") -> Object:
    """A class as the API server gives it."""
    return {"metadata": {"name": name, "uid": name, "resourceVersion": version}, "spec": spec}


def test_a_class_that_does_not_fit_is_absent_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    store = Store()
    store.put(build("good", GOOD))
    store.put(build("bad", {"cluster": {}}))
    classes = Classes(store)
    assert classes.all() == {"good": build_policy()}
    assert set(classes.all()) == {"good"}
    assert [record.message.split(":")[0] for record in caplog.records] == ["NestedClass 'bad' is invalid"]


def test_a_class_that_cannot_be_read_is_absent_and_does_not_allow_everything() -> None:
    store = Store(trim_class)
    store.put(build("bad", GOOD) | {"metadata": {"name": "bad", "uid": "b", "resourceVersion": "1", "labels": ["x"]}})
    assert Classes(store).all() == {}


def test_a_class_is_parsed_again_when_it_changes_and_only_then() -> None:
    store = Store()
    store.put(build("one", GOOD))
    classes = Classes(store)
    first = classes.all()["one"]
    assert classes.all()["one"] is first
    store.put(build("one", GOOD | {"namespace": {"podSecurity": "Privileged"}}, "2"))
    assert classes.all()["one"].namespace.pod_security == "Privileged"
    store.drop(build("one", GOOD, "2"))
    assert classes.all() == {}
