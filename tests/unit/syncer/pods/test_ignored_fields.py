"""Each pod is told once what of it has no effect."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.kube import Api, Change, kinds
from nestor.kube.events import EventRecorder
from nestor.syncer.pods.ignored_fields import IgnoredFields
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod

TEXT = "`spec.schedulerName` is 'volcano', but the class allows none (`placement.schedulers`)"


class Scene:
    """IgnoredFields, and a nested cluster that keeps their events."""

    def __init__(self) -> None:
        self.nested = MemoryApi()
        api = cast(Api, self.nested)
        self.caches = Caches(api, api, TARGET)
        context = Context(api, api, TARGET, self.caches, EventRecorder(api, "test"))
        self.ignored = IgnoredFields(context, OwnNodes(self.caches))

    def change(self, old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
        """The cache hears of a change."""
        for handler in self.caches.nested(kinds.POD).handlers:
            handler(Change(("shop", "web"), old, new))

    @property
    def events(self) -> list[tuple[str, str]]:
        """What was told."""
        return [(item["reason"], item["message"]) for key, item in self.nested.objects.items() if key[0] == "events"]


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_pod_is_told_once_however_often_it_is_tried(scene: Scene) -> None:
    pod = build_pod(schedulerName="volcano")
    for _ in range(3):
        await scene.ignored.tell(pod)
    assert scene.events == [("FieldsIgnored", TEXT)]


async def test_ordinary_pods_are_told_nothing(scene: Scene) -> None:
    await scene.ignored.tell(build_pod())
    assert scene.events == []
    assert scene.ignored.remembered == 0


async def test_the_pods_of_a_stateful_set_are_told_nothing_for_their_set_s_sake_and_the_set_once(scene: Scene) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": True}
    for name in ("db-0", "db-1"):
        pod = build_pod(subdomain="db")
        pod["metadata"] |= {"name": name, "uid": name, "ownerReferences": [owner]}
        for _ in range(2):
            await scene.ignored.tell(pod)
    ((_, event),) = [(key, item) for key, item in scene.nested.objects.items() if key[0] == "events"]
    assert (event["type"], event["reason"]) == ("Normal", "FieldsIgnored")
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("StatefulSet", "db")


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_what_was_told_is_forgotten_with_the_pod(scene: Scene, is_replaced: bool) -> None:
    pod = build_pod(schedulerName="volcano")
    await scene.ignored.tell(pod)
    scene.change(None, pod)
    scene.change(pod, pod)
    assert scene.ignored.remembered == 1
    successor = pod | {"metadata": pod["metadata"] | {"uid": "another"}}
    scene.change(pod, successor if is_replaced else None)
    assert scene.ignored.remembered == 0
