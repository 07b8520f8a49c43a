"""When the applier asks the API server, and when it knows enough."""

from __future__ import annotations

from typing import Any

from nestor.kube import Api, NotFound, kinds
from nestor.kube.applier import Applier

Object = dict[str, Any]
KEPT = {"a": "1"}


class FakeApi(Api):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def apply(self, kind: kinds.Kind, body: Object, *, subresource: str | None = None) -> Object:
        """The body comes back."""
        self.asked.append(f"apply {body['metadata']['name']}")
        return body

    async def patch(self, kind: kinds.Kind, name: str, namespace: str | None, patch: Any, **_: Any) -> Object:
        """Nothing is there."""
        self.asked.append(f"patch {name}")
        raise NotFound(404, "NotFound", "none")


class FakeCache:
    """Shows one object, always."""

    def __init__(self, live: Object | None) -> None:
        self.live = live

    def get(self, name: str, namespace: str = "") -> Object | None:
        """That object."""
        return self.live


def body(annotations: Object) -> Object:
    """An Ingress."""
    return {"metadata": {"name": "web", "namespace": "home", "annotations": annotations}}


async def test_a_settled_object_costs_one_apply_after_a_restart_and_none_then() -> None:
    api = FakeApi()
    applier = Applier(api, {kinds.INGRESS: FakeCache(body(KEPT))})
    for _ in range(3):
        await applier.ensure(kinds.INGRESS, body(KEPT))
    assert api.asked == ["apply web"]


async def test_what_is_no_longer_said_is_taken_away_by_an_apply() -> None:
    api = FakeApi()
    applier = Applier(api, {kinds.INGRESS: FakeCache(body({"a": "1", "b": "2"}))})
    await applier.ensure(kinds.INGRESS, body({"a": "1", "b": "2"}))
    await applier.ensure(kinds.INGRESS, body(KEPT))
    await applier.ensure(kinds.INGRESS, body(KEPT))
    assert api.asked == ["apply web"] * 2


async def test_another_namespace_of_the_same_name_starts_empty() -> None:
    api = FakeApi()
    applier = Applier(api)
    assert applier.enter("home", "1")
    await applier.ensure(kinds.SECRET, body(KEPT))
    assert applier.enter("home", "1")
    await applier.ensure(kinds.SECRET, body(KEPT))
    assert not applier.enter("home", "2")
    await applier.ensure(kinds.SECRET, body(KEPT))
    assert applier.enter("home", "2")
    assert api.asked == ["apply web"] * 2


async def test_emptying_is_asked_for_once_until_there_is_something_again() -> None:
    api = FakeApi()
    applier = Applier(api)
    for _ in range(2):
        await applier.ensure_emptied(kinds.LIMIT_RANGE, "web", "home", {"limits": []})
    await applier.ensure(kinds.LIMIT_RANGE, body(KEPT))
    await applier.ensure_emptied(kinds.LIMIT_RANGE, "web", "home", {"limits": []})
    assert api.asked == ["patch web", "apply web", "patch web"]
