"""Isolated pods say so from the start, and whenever policies or labels change."""

import asyncio
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Informer, RetryLater, kinds
from nestor.kube.informer import key_of
from nestor.pods.translate import pod as translate
from nestor.pods.translate import update
from nestor.syncer.pods.isolation import Isolation
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_pod
from tests.unit.syncer.at_work import build_context

INGRESS, EGRESS = "nestor.dev/isolated-ingress", "nestor.dev/isolated-egress"


def take(informer: Informer, item: Object) -> None:
    informer._set(key_of(item), item)


class Scene:
    """A nested cluster with a pod, and what the syncer knows of its policies."""

    def __init__(self) -> None:
        self.nested = MemoryApi()
        context = build_context(MemoryApi(), self.nested)
        self.caches, self.isolation = context.caches, Isolation(context)
        self.pod = build_pod(labels={"app": "web"})

    def put(self, **spec: Any) -> Object:
        """A policy, of which the watch has said nothing."""
        meta = {"name": "closed", "namespace": "shop"}
        return self.nested.put(kinds.NETWORK_POLICY, {"metadata": meta, "spec": {"podSelector": {}, **spec}})

    def hear(self, policy: Object) -> None:
        take(self.caches.nested(kinds.NETWORK_POLICY), policy)


async def test_a_pod_waits_until_the_policies_that_are_older_than_it_are_known() -> None:
    scene = Scene()
    await scene.isolation.ensure(scene.pod)
    first = scene.put(policyTypes=["Ingress"])
    with pytest.raises(RetryLater, match="'closed' is not known yet"):
        await scene.isolation.ensure(scene.pod)
    scene.hear(first)
    await scene.isolation.ensure(scene.pod)
    assert scene.isolation.find(scene.pod) == {INGRESS: "true"}
    second = scene.put(policyTypes=["Ingress", "Egress"])
    with pytest.raises(RetryLater):
        await scene.isolation.ensure(scene.pod)
    scene.hear(second)
    assert scene.isolation.find(scene.pod) == {INGRESS: "true", EGRESS: "true"}


async def test_of_policies_that_may_be_large_only_the_metadata_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    light = MemoryApi()
    monkeypatch.setattr(MemoryApi, "with_metadata_only", lambda _: light)
    scene = Scene()
    await scene.isolation.ensure(scene.pod)
    assert (scene.nested.asked, light.asked) == ([], ["LIST networkpolicies shop"])


async def test_pods_that_are_created_at_the_same_time_share_what_is_read_after_they_came() -> None:
    scene = Scene()
    scene.hear(scene.put(policyTypes=["Ingress"]))
    first = asyncio.create_task(scene.isolation.ensure(scene.pod))
    for _ in range(3):
        await asyncio.sleep(0)
    assert scene.nested.asked
    later = scene.put(policyTypes=["Egress"])
    others = [asyncio.create_task(scene.isolation.ensure(scene.pod)) for _ in range(20)]
    outcomes = await asyncio.gather(first, *others, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes[1:]] == [RetryLater] * 20
    assert len([line for line in scene.nested.asked if line.startswith("LIST networkpolicies")]) == 2
    scene.hear(later)
    await scene.isolation.ensure(scene.pod)


def test_only_policies_of_its_namespace_isolate_a_pod() -> None:
    scene = Scene()
    scene.hear(scene.put(policyTypes=["Ingress"]))
    scene.pod["metadata"]["namespace"] = "other"
    assert scene.isolation.find(scene.pod) == {}


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        ({}, {}, None),
        ({INGRESS: "true"}, {INGRESS: "true"}, None),
        ({}, {EGRESS: "true"}, {EGRESS: "true"}),
        ({INGRESS: "true"}, {}, {INGRESS: None}),
        ({INGRESS: "true"}, {EGRESS: "true"}, {INGRESS: None, EGRESS: "true"}),
    ],
)
def test_the_labels_of_a_host_pod_follow(there: Object, wanted: Object, expected: Object | None) -> None:
    host = translate.build_pod(build_pod(), TARGET, {}, Policy())
    host["metadata"]["uid"] = "host-uid"
    host["metadata"]["labels"] |= there
    patch = update.build_isolation(host, wanted)
    assert patch == ({"metadata": {"uid": "host-uid", "labels": expected}} if expected else None)


def test_no_tenant_opens_or_closes_a_pod_by_a_label_of_its_own() -> None:
    host = translate.build_pod(build_pod(labels={INGRESS: "true", EGRESS: "true"}), TARGET, {}, Policy())
    assert not {INGRESS, EGRESS} & host["metadata"]["labels"].keys()


def test_the_pods_of_a_namespace_are_looked_at_when_its_policies_change() -> None:
    scene = Scene()
    seen: list[str] = []
    scene.isolation.wake = seen.append
    take(scene.caches.nested(kinds.POD), scene.pod)
    scene.hear(scene.put(policyTypes=["Ingress"]))
    assert seen == ["pod-uid"]
