"""What a pass over a user's cluster comes to; what it makes is `ensure_cluster`'s."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor import names
from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.cluster.provision import Addresses
from nestor.cluster.shape import Host
from nestor.kube import Forbidden, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.clusters import ownership, reconcile
from nestor.operator.clusters.ensure import Ensured
from nestor.operator.clusters.reconcile import ClusterReconciler
from nestor.operator.lifecycle.suspend import SuspendState
from nestor.operator.result import Result
from nestor.operator.world.context import Context
from tests.unit.operator.builders import build_policy, build_shape

Object = dict[str, Any]

OF_JOB, HOME = labels.of_job("hello", "team-a", "1234"), names.job_namespace("hello", "team-a", "1234")
VOLUME: Object = {"persistence": {"size": "1Gi"}}


SUSPENDING = SuspendState("its pods end", replicas=0, delay=7)


class World:
    """One cluster; what is there besides, and what is asked for."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, where: str = "team-a", marks: Object | None = None, **spec: Any
    ) -> None:
        meta = {"name": "own", "namespace": where, "uid": "u", "labels": marks or {}}
        self.cluster = {"metadata": meta, "spec": {"className": "default", **spec}}
        self.there: dict[str, Object] = {}
        self.error: Exception | None = None
        self.asked: list[str] = []
        self.said: list[Condition] = []
        self.replicas: list[int] = []
        store = SimpleNamespace(get=lambda *_: self.cluster, put=lambda _: None)
        no_class = SimpleNamespace(get=lambda *_: None)
        cache = SimpleNamespace(clusters=_Store(store), classes=no_class, find=lambda kind, *_: self.there.get(kind.plural))
        classes = SimpleNamespace(all=lambda: {"default": build_policy()}, of=lambda _: build_policy(), default="default")
        context = SimpleNamespace(api=None, cache=cache, classes=classes, host=Host(()), settings=None)
        for name in ("ensure_finalizer", "write_status", "ensure_cluster", "build_shape", "keep_keys"):
            monkeypatch.setattr(reconcile, name, getattr(self, name))
        monkeypatch.setattr(ownership, "find_senior", lambda *_: None)
        monkeypatch.setattr(ownership, "find_foreign", self.find_foreign)
        self.reconciler = ClusterReconciler(cast(Context, context))

    async def keep_keys(self, *_: Any) -> None:
        """They are kept."""

    async def ensure_finalizer(self, _: Any, __: Any, cluster: Object) -> Object:
        self.asked.append("finalizer")
        return cluster

    async def write_status(self, _: Any, cluster: Object, __: Any, found: list[Condition], *___: Any) -> Object:
        self.said = found
        return cluster

    def build_shape(self, _: Any, spec: Any, home: Any, __: Any, *, replicas: int) -> Any:
        self.replicas.append(replicas)
        return build_shape(name=home.name, namespace=home.namespace, owner=home.owner, persistence=spec.persistence)

    async def ensure_cluster(self, *_: Any) -> Ensured:
        self.asked.append("cluster")
        if self.error is not None:
            raise self.error
        return Ensured(Addresses("10.43.0.5", "10.43.0.6"))

    async def find_foreign(self, *_: Any) -> None:
        self.asked.append("names")

    async def look(self) -> Result:
        """One pass."""
        return await self.reconciler.reconcile(self.cluster["metadata"]["namespace"], "own")


class _Store:
    def __init__(self, found: Any) -> None:
        self.get, self.put = found.get, found.put

    def __iter__(self) -> Any:
        return iter(())


async def test_names_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    assert await world.look() == Result(RESYNC_SECONDS)
    assert await world.look() == Result(RESYNC_SECONDS)
    assert world.asked == ["finalizer", "names", "cluster", "finalizer", "cluster"]
    assert [(item.type, item.status) for item in world.said] == [(conditions.ADMITTED, "True")]


async def test_a_jobs_cluster_is_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, where=HOME, marks=OF_JOB)
    assert await world.look() == Result()
    assert world.asked == []


async def test_a_jobs_cluster_that_goes_is_the_jobs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no finalizer of ours. There is no API server here: nothing may be asked for."""
    world = World(monkeypatch, where=HOME, marks=OF_JOB)
    world.cluster["metadata"]["deletionTimestamp"] = "now"
    assert await world.look() == Result()


async def test_what_the_host_refuses_is_told_and_tried_again_with_growing_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.error = Forbidden(403, "Forbidden", "exceeded quota")
    assert await world.look() == Result(error=world.error)
    ((said),) = world.said
    assert (said.status, said.reason, said.message) == ("False", conditions.PROVISIONING_FAILED, "exceeded quota")


async def test_a_namespace_that_goes_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.error = Forbidden(403, "Forbidden", "x", {"causes": [{"reason": "NamespaceTerminating"}]})
    assert await world.look() == Result(RESYNC_SECONDS)
    assert world.said == []


def owned(uid: str) -> Object:
    """Something of that owner's."""
    return {"metadata": {"name": "x", "uid": "server", "ownerReferences": [{"uid": uid}]}}


@pytest.mark.parametrize(
    ("server", "claim", "is_taken"),
    [
        (None, None, True),
        (None, owned("before"), False),
        (None, owned("server"), False),
        (owned("u"), owned("server"), True),
        (owned("u"), owned("before"), False),
        # Its StatefulSet has not taken it yet.
        (owned("u"), {"metadata": {"name": "x"}}, True),
        # The server of an earlier cluster of this name.
        (owned("before"), owned("server"), False),
    ],
)
async def test_a_volume_of_an_earlier_cluster_is_waited_for(
    server: Object | None, claim: Object | None, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(monkeypatch, **VOLUME)
    world.there = {
        kind.plural: found
        for kind, found in ((kinds.STATEFUL_SET, server), (kinds.PERSISTENT_VOLUME_CLAIM, claim))
        if found is not None
    }
    monkeypatch.setattr(reconcile, "read_running", lambda *_: None)
    if is_taken:
        await world.look()
    else:
        with pytest.raises(RetryLater, match="is being deleted"):
            await world.look()
    assert ("cluster" in world.asked) is is_taken


async def test_a_suspend_decides_about_the_server_and_when_to_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, suspend=True)
    monkeypatch.setattr(reconcile, "find_progress", lambda *_: None)
    monkeypatch.setattr(reconcile, "decide_suspend", lambda *_: SUSPENDING)
    assert await world.look() == Result(SUSPENDING.delay)
    assert world.replicas == [SUSPENDING.replicas]
