"""A host pod is created after what it needs, or its owner is told why there is none."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.objects import Object, conditions_of
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.kube import Forbidden, NotFound, RetryLater, kinds
from nestor.pods.providers.errors import NoRoom
from nestor.syncer import limits
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.pods.places import Places
from nestor.syncer.pods.room import find_size
from tests.fakes.api import MemoryApi
from tests.fakes.host import MemoryHost
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import build_context

PRIVILEGED = {"securityContext": {"privileged": True}}
NOT_ALLOWED = "`spec.containers[0].securityContext.privileged` may not be true"
Need = Callable[[Object], Awaitable[None]]


class Scene:
    """A nested pod, a provider, and what may change meanwhile."""

    def __init__(self, pod: Object, *needs: Need, refusal: str | None = None) -> None:
        self.nested = MemoryApi()
        self.pod = self.nested.put(kinds.POD, pod)
        self.provider = MemoryHost(refusal=refusal)
        context = build_context(self.provider.cluster, self.nested)
        self.caches, isolation = context.caches, Isolation(context)
        self.hear(self.pod)
        own_nodes = OwnNodes(self.caches)
        self.creator = PodCreator(context, self.provider, needs, Places(context), Gangs(context), own_nodes, isolation)

    def hear(self, pod: Object | None) -> None:
        """The syncer hears that the pod is there, or gone."""
        assert self.caches.nested_by_uid
        self.caches.nested(kinds.POD)._set(("shop", "web"), pod)

    def allow(self, policy: Policy) -> None:
        self.caches._policy = policy

    def suspend(self) -> None:
        meta = {"name": TARGET.cluster, "namespace": TARGET.namespace, "resourceVersion": "1"}
        self.caches.host_cluster._set((TARGET.namespace, TARGET.cluster), {"metadata": meta, "spec": {"suspend": True}})

    async def create(self) -> None:
        await self.creator.create(self.pod)

    @property
    def events(self) -> list[str]:
        return [item["message"] for item in self.nested.every("events")]

    @property
    def condition(self) -> Object:
        found: Any = self.nested.look(kinds.POD, "web", "shop")
        return next((item for item in conditions_of(found) if item["type"] == "PodScheduled"), {})


async def test_a_refused_pod_is_told_once_and_needs_nothing() -> None:
    async def need(_: Object) -> None:
        raise AssertionError("nothing is prepared for a pod that does not run")

    scene = Scene(build_pod(container=PRIVILEGED), need)
    await scene.create()
    await scene.create()
    assert scene.events == [NOT_ALLOWED]
    assert scene.condition["reason"] == "PodRefused"
    assert scene.provider.cluster.asked == []


async def test_what_of_a_pod_has_no_effect_is_told_once_however_often_it_is_tried() -> None:
    scene = Scene(build_pod(schedulerName="volcano"), refusal="not now")
    for _ in range(3):
        with pytest.raises(RetryLater):
            await scene.create()
    assert scene.events == ["`spec.schedulerName` is 'volcano', but the class allows none (`placement.schedulers`)", "not now"]
    scene.creator.forget(scene.pod["metadata"]["uid"])
    assert scene.creator._ignored._told == {}


async def test_what_the_pods_of_a_stateful_set_lack_is_told_once_at_the_set() -> None:
    pod = build_pod(subdomain="db")
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": True}
    ]
    scene = Scene(pod)
    await scene.create()
    scene.creator.forget(scene.pod["metadata"]["uid"])  # as for a second pod
    scene.provider.cluster.objects.clear()
    await scene.create()
    (event,) = scene.nested.every("events")
    assert (event["type"], event["reason"]) == ("Normal", "FieldsIgnored")
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("StatefulSet", "db")


@pytest.mark.parametrize("change", [lambda scene: scene.allow(Policy()), Scene.suspend])
async def test_what_changes_meanwhile_is_obeyed(change: Callable[[Scene], None]) -> None:
    async def need(_: Object) -> None:
        change(scene)

    scene = Scene(build_pod(container=PRIVILEGED), need)
    scene.allow(Policy(pod_security="Privileged"))
    await scene.create()
    assert scene.provider.pods == {}


async def test_what_the_provider_does_not_take_is_told_in_nested_words_and_tried_again() -> None:
    scene = Scene(build_pod(), refusal=f"exceeded quota in {TARGET.namespace}")
    for _ in range(2):
        with pytest.raises(RetryLater):
            await scene.create()
    assert scene.events == ["exceeded quota in shop"]
    assert scene.condition["message"] == "exceeded quota in shop"


async def test_a_refused_pod_is_tried_ever_more_rarely_unless_it_changes() -> None:
    scene = Scene(build_pod(), refusal="a webhook says no")
    scene.pod["metadata"]["generation"] = 1
    delays = []
    for _ in range(6):
        with pytest.raises(RetryLater) as caught:
            await scene.create()
        delays.append(caught.value.delay)
    assert delays == [5, 10, 20, 40, 60, 60]
    # Its own condition and event are news about it, too.
    assert 59 < scene.creator.find_pause(scene.pod) <= 60
    scene.pod["metadata"]["generation"] = 2
    assert scene.creator.find_pause(scene.pod) == 0
    scene.creator.forget(scene.pod["metadata"]["uid"])
    with pytest.raises(RetryLater) as caught:
        await scene.create()
    assert caught.value.delay == 5


async def test_a_quota_is_told_once_whatever_its_numbers_are_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, used = Scene(build_pod()), []

    async def create(_: Object) -> Object:
        used.append("")
        raise NoRoom(f"exceeded quota: small, used: pods={len(used)}")

    monkeypatch.setattr(scene.provider, "create", create)
    for _ in range(3):
        with pytest.raises(RetryLater):
            await scene.create()
    assert len(used) == 3
    (told,) = scene.events
    assert told.startswith("exceeded quota: small, used: pods=1; ")


@pytest.mark.parametrize("why", ["gone", "refused", "failed"])
async def test_a_pod_whose_turn_it_is_but_that_asks_for_no_room_holds_up_nobody(why: str) -> None:
    async def need(_: Object) -> None:
        raise Forbidden(403, "Forbidden", "ConfigMap 'x' is in the way")

    scene, turns = Scene(build_pod(container=PRIVILEGED if why == "refused" else {}), need), []
    room, size = scene.creator.room, find_size(scene.pod)
    room.wake = lambda uid, _: turns.append(uid)
    room.refuse(scene.pod["metadata"]["uid"], size, "full")
    room.refuse("next", size, "full")
    if why == "gone":
        scene.creator.forget(scene.pod["metadata"]["uid"])
    else:
        with contextlib.suppress(RetryLater):
            await scene.create()
    assert turns == ["next"]


async def test_a_pod_beyond_the_bytes_that_a_cluster_may_have_is_told_and_comes_when_there_is_room() -> None:
    scene = Scene(build_pod())
    scene.caches.copied_bytes.value = limits.COPIED_BYTES - 1000
    with pytest.raises(RetryLater) as caught:
        await scene.create()
    assert caught.value.delay == 5
    assert scene.provider.pods == {}
    assert scene.events == [limits.find_excess(limits.COPIED_BYTES, 0, 1)]
    assert "what a nested cluster has in the host cluster" in scene.condition["message"]
    scene.caches.copied_bytes.value -= 10_000
    await scene.create()
    assert len(scene.provider.pods) == 1


async def test_a_name_that_is_still_held_is_waited_for_in_silence() -> None:
    scene = Scene(build_pod())
    await scene.create()
    (pod,) = scene.provider.pods.values()
    pod["metadata"]["labels"]["nestor.dev/nested-uid"] = "earlier"
    scene.provider.cluster.put(kinds.POD, pod)
    with pytest.raises(RetryLater) as caught:
        await scene.create()
    assert caught.value.delay == 1
    assert scene.events == []
    assert scene.creator.creating == 0


async def test_a_pod_that_goes_while_it_is_prepared_is_told_nothing_and_not_created() -> None:
    async def need(_: Object) -> None:
        scene.hear(None)
        raise NotFound(404, "NotFound", 'serviceaccounts "default" not found')

    scene = Scene(build_pod(), need)
    await scene.create()
    assert (scene.events, scene.provider.cluster.asked) == ([], [])


async def test_that_a_pod_waits_for_a_resume_is_written_once() -> None:
    scene = Scene(build_pod())
    for _ in range(3):
        await scene.creator.hold(scene.pod)
        scene.pod = scene.nested.look(kinds.POD, "web", "shop") or {}
    assert scene.nested.asked == ["PATCH pods shop/web/status"]
    assert scene.condition["reason"] == "Suspended"


async def test_a_pod_that_has_no_place_says_so_once_and_is_tried_again() -> None:
    scene = Scene(build_pod())
    scene.allow(Policy(placement=read(Placement, {"overflow": {"mode": "Always"}})))
    for _ in range(2):
        with pytest.raises(RetryLater):
            await scene.create()
    assert scene.events == ["the pod has to wait: it has to run at a backend, and none is allowed"]
    assert scene.condition["message"] == scene.events[0]
    assert scene.provider.pods == {}
    scene.allow(Policy())
    await scene.create()
    assert len(scene.provider.pods) == 1
