"""When the applier asks the API server, and when it knows enough."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Informer, kinds
from nestor.kube import applier as applier_module
from nestor.kube.applier import LAG_SECONDS, RESYNC_SECONDS, Applier, contains
from tests.fakes.api import MemoryApi

KEPT = {"a": "1"}


def body(annotations: Object) -> Object:
    """An Ingress."""
    return {"metadata": {"name": "web", "namespace": "home", "annotations": annotations}}


async def test_what_is_no_longer_said_is_taken_away_by_an_apply() -> None:
    api, cache = MemoryApi(), Informer(cast(Api, None), kinds.INGRESS)
    cache.put(body({"a": "1", "b": "2"}))
    applier = Applier(cast(Api, api), {kinds.INGRESS: cache})
    await applier.ensure(kinds.INGRESS, body({"a": "1", "b": "2"}))
    await applier.ensure(kinds.INGRESS, body(KEPT))
    await applier.ensure(kinds.INGRESS, body(KEPT))
    assert api.asked == ["APPLY ingresses home/web"] * 2


async def ensured(applier: Applier, annotations: Object | None = None) -> None:
    await applier.ensure(kinds.INGRESS, body(annotations or KEPT))


@pytest.mark.parametrize(
    ("seconds", "seen", "now", "applies"),
    [
        # Our own write may take a moment to come back, once; what was seen and is gone is made again at once.
        (LAG_SECONDS - 1, False, None, 1),
        (LAG_SECONDS + 1, False, None, 2),
        (LAG_SECONDS - 1, True, None, 2),
        (LAG_SECONDS - 1, True, body({}), 2),
        (RESYNC_SECONDS + 1, True, body(KEPT), 1),
        (LAG_SECONDS - 1, True, body(KEPT | {"others": "x"}), 1),
        (LAG_SECONDS + 1, True, {"metadata": body(KEPT)["metadata"] | {"deletionTimestamp": "now"}}, 2),
    ],
    ids=["lags", "lags for too long", "is gone", "was changed", "is as it was", "says more", "goes"],
)
async def test_what_is_watched_is_applied_again_when_it_differs(
    seconds: float, seen: bool, now: Object | None, applies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, clock, cache = MemoryApi(), [1000.0], Informer(cast(Api, None), kinds.INGRESS)
    monkeypatch.setattr(applier_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    applier = Applier(cast(Api, api), {kinds.INGRESS: cache})
    await ensured(applier)
    if seen:
        cache.store["home", "web"] = body(KEPT)
        await ensured(applier)
    cache.store.clear()
    if now is not None:
        cache.store["home", "web"] = now
    clock[0] += seconds
    await ensured(applier)
    assert len(api.asked) == applies


async def test_what_nobody_watches_is_applied_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    api, clock = MemoryApi(), [1000.0]
    monkeypatch.setattr(applier_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    applier = Applier(cast(Api, api))
    for seconds, applies in ((0, 1), (RESYNC_SECONDS - 1, 1), (2, 2)):
        clock[0] += seconds
        await ensured(applier)
        assert len(api.asked) == applies


async def test_a_namespace_settles_a_moment_after_the_last_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(applier_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    applier = Applier(cast(Api, MemoryApi()))
    assert not applier.is_settling("home")
    await ensured(applier)
    assert applier.is_settling("home")
    assert not applier.is_settling("other")
    clock[0] += LAG_SECONDS
    assert not applier.is_settling("home")


@pytest.mark.parametrize(
    ("live", "desired", "is_contained"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": "1Gi"}, {"a": "1024Mi"}, True),
        ({"a": "1Gi"}, {"a": "1025Mi"}, False),
        ({"a": "1"}, {"a": "1000m"}, True),
        ({"a": "10.43.0.5"}, {"a": "10.43.0.6"}, False),
        ({"a": "word"}, {"a": "other"}, False),
        ({"a": {"b": [{"c": 1, "d": 2}]}}, {"a": {"b": [{"c": 1}]}}, True),
        ({"a": 1}, {"a": {}}, False),
        ([1, 2], [1], True),
        ([1], [1, 2], False),
        (None, [], True),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ("x", {"a": 1}, False),
    ],
)
def test_what_others_add_or_write_in_another_way_is_no_difference(live: Any, desired: Any, is_contained: bool) -> None:
    assert contains(live, desired) is is_contained


async def test_another_namespace_of_the_same_name_starts_empty() -> None:
    api = MemoryApi()
    applier = Applier(cast(Api, api))
    assert applier.enter("home", "1")
    await applier.ensure(kinds.SECRET, body(KEPT))
    assert applier.enter("home", "1")
    await applier.ensure(kinds.SECRET, body(KEPT))
    assert not applier.enter("home", "2")
    await applier.ensure(kinds.SECRET, body(KEPT))
    assert applier.enter("home", "2")
    assert api.asked == ["APPLY secrets home/web"] * 2
