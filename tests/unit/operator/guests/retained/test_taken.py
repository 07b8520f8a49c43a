"""Which volumes a job gets of those that an earlier one has left, and how it gets them."""

import asyncio
import re
from dataclasses import replace
from typing import Any, cast

import pytest

from nestor.api import conditions, labels, names
from nestor.cluster.shape import Host
from nestor.kube import Api, kinds
from nestor.operator.admission.identity import Denial
from nestor.operator.guests.retained.keeper import Retain
from nestor.operator.guests.retained.taken import build_claim, choose_volumes, find_obstacle
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object, build_job, build_policy, build_resolved

JOB = build_job(storage={"volumesFrom": "shop"})
RESOLVED = build_resolved(JOB, build_policy(storage={"classes": ["fast"]}))
HOME = RESOLVED.home
CLAIM = names.host_name("data", "default")
OURS = {"namespace": HOME.namespace, "name": CLAIM}
OWN = {"job": "hello", "uid": RESOLVED.uid, "taken": "shop"}


def build_volume(
    name: str = "pv",
    *,
    job: str = "shop",
    uid: str = "s",
    claim: str = "data",
    phase: str = "Released",
    since: str = "2026-01-01T00:00:00Z",
    taken: str | None = None,
    **spec: Any,
) -> Object:
    """A volume that `shop` has left."""
    notes = {labels.NESTED_NAMESPACE: "default", labels.NESTED_NAME: claim} if claim else {}
    meta = {
        "name": name,
        "labels": {labels.JOB: job, labels.JOB_NAMESPACE: "team-a", labels.JOB_UID: uid},
        "annotations": notes | ({labels.VOLUMES_FROM: taken} if taken else {}),
    }
    own = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
    }
    ref = {"namespace": "nestor-team-a-shop-1", "name": CLAIM, "uid": "c1"}
    status = {"phase": phase, "lastPhaseTransitionTime": since}
    return {"metadata": meta, "spec": own | {"claimRef": ref} | spec, "status": status}


SNAPSHOT = build_volume() | {"spec": {"volumeSnapshotRef": {}}}


@pytest.mark.parametrize(
    ("left", "chosen"),
    [
        ([build_volume("a", claim="a"), build_volume("b", claim="b"), build_volume("c", job="other")], ["a", "b"]),
        ([build_volume("new", since="2026-02-01T00:00:00Z"), build_volume("old")], ["new"]),
        ([build_volume(claim=""), SNAPSHOT], []),
        # An operator that died between the two goes on with the second.
        ([build_volume("a", claim="a"), build_volume("b", claim="b", claimRef=OURS, **OWN)], ["a", "b"]),
        # What it has begun with is all that it gets, whatever comes later.
        ([build_volume("a", claim="a"), build_volume("b", claim="b", **OWN)], ["b"]),
        # Its own of an earlier start are no others, and a job that is created again gets the same.
        ([build_volume("a"), build_volume("b", job="hello", uid=RESOLVED.uid)], ["a"]),
        ([build_volume("a", job="hello", uid="h", taken="shop"), build_volume("b", job="hello", uid="h", claim="b")], ["a"]),
    ],
    ids=["all", "latest", "unnamed", "half", "begun", "restarted", "again"],
)
def test_a_job_gets_the_latest_volume_of_each_claim(left: list[Object], chosen: list[str]) -> None:
    assert sorted(item["metadata"]["name"] for item in choose_volumes(left, "shop", HOME)) == chosen


@pytest.mark.parametrize(
    ("chosen", "left", "former", "reason", "text"),
    [
        ([build_volume()], [], None, None, ""),
        ([build_volume()], [], {"uid": RESOLVED.uid}, None, ""),
        ([build_volume(phase="Bound", **OWN)], [], {"uid": "s2"}, None, ""),
        ([build_volume()], [], {"uid": "s2"}, conditions.VOLUMES_UNAVAILABLE, "job 'shop' still exists and keeps its volumes"),
        ([build_volume()], [], {"uid": "s2", "deletionTimestamp": "x"}, conditions.VOLUMES_PENDING, "is being deleted"),
        ([build_volume(phase="Bound")], [], None, conditions.VOLUMES_PENDING, "'default/data'.* is still in use"),
        ([], [], None, conditions.VOLUMES_UNAVAILABLE, "job 'shop' has left no volumes in namespace 'team-a'$"),
        ([], [build_volume(job="next")], None, conditions.VOLUMES_UNAVAILABLE, "; there are volumes of 'next'$"),
        ([build_volume(storageClassName="slow")], [], None, conditions.STORAGE_NOT_ALLOWED, "'slow': the class allows 'fast'"),
        ([build_volume(volumeMode="Block")], [], None, conditions.STORAGE_NOT_ALLOWED, "is a block volume"),
    ],
    ids=["free", "same", "own", "job", "ending", "bound", "none", "others", "class", "block"],
)
def test_a_job_whose_volumes_it_cannot_have_is_told_why(
    chosen: list[Object], left: list[Object], former: Object | None, reason: str | None, text: str
) -> None:
    found = find_obstacle(RESOLVED, chosen, left, {"metadata": former} if former else None)
    assert (found.reason if found else None) == reason
    if found is not None:
        assert re.search(text, found.message)
        assert found.retry_seconds


class World:
    """A guest before an API server in memory, and the host's controller."""

    def __init__(self, *volumes: Object, **storage: Any) -> None:
        self.api = MemoryApi()
        api = cast(Api, self.api)
        cache = Cache(api)
        policy = build_policy(storage={"classes": ["fast"]} | storage)
        body = policy.model_dump(by_alias=True, exclude_none=True)
        cache.classes.put({"metadata": {"name": "default", "uid": "c", "resourceVersion": "1"}, "spec": body})
        cache.jobs.put(JOB | {"metadata": JOB["metadata"] | {"resourceVersion": "1"}})
        self.guest = Retain(Context.create(api, Settings(image="x"), cache, Host(())))
        for item in volumes:
            self.api.put(kinds.PERSISTENT_VOLUME, item)

    async def begin(self) -> Denial | None:
        return await self.guest.begin(RESOLVED)

    def look(self, name: str = "pv") -> Object:
        return cast(Object, self.api.look(kinds.PERSISTENT_VOLUME, name))

    def control(self, phase: str, name: str = "pv", **claim: Any) -> None:
        found = self.look(name)
        found["status"]["phase"] = phase
        found["spec"]["claimRef"] |= claim
        self.api.put(kinds.PERSISTENT_VOLUME, found)

    def count_claims(self) -> int:
        return len(self.api.every("persistentvolumeclaims"))


async def test_the_cluster_starts_when_the_host_has_reserved_the_volumes_and_then_their_claims_come() -> None:
    world = World(build_volume())
    waiting = await world.begin()
    assert waiting is not None
    assert (waiting.reason, waiting.status) == (conditions.VOLUMES_PENDING, "Unknown")
    found = world.look()
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    assert found["spec"]["claimRef"] == OURS | kind
    assert found["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert found["metadata"]["labels"] == {key: HOME.labels[key] for key in (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID)}
    assert found["metadata"]["annotations"][labels.VOLUMES_FROM] == "shop"
    assert await world.begin(), "its controller has not seen that yet"
    assert world.api.asked.count("PATCH persistentvolumes pv") == 1
    world.control("Available")
    assert await world.begin() is None
    await world.guest.ensure(RESOLVED, HOME)
    await world.guest.ensure(RESOLVED, HOME)
    assert world.count_claims() == 1
    world.control("Bound", uid="c2")
    await world.guest.ensure(RESOLVED, HOME)
    assert world.count_claims() == 1
    assert await world.begin() is None, "and it starts over with them"


async def test_of_two_jobs_one_gets_all() -> None:
    """Also where the second looks between the first one's two requests."""
    world = World(build_volume("a", claim="a"), build_volume("b", claim="b"))
    other = replace(RESOLVED, uid="5678", home=replace(HOME, labels=HOME.labels | {labels.JOB: "other", labels.JOB_UID: "5678"}))
    _, refused = await asyncio.gather(world.begin(), world.guest.begin(other))
    assert refused is not None
    assert refused.reason == conditions.VOLUMES_UNAVAILABLE
    assert {world.look(name)["metadata"]["labels"][labels.JOB] for name in ("a", "b")} == {"hello"}


async def test_what_a_job_has_given_back_it_gets_again_when_it_starts_over() -> None:
    world = World(build_volume(claimRef=OURS | {"uid": "c2"}, **OWN))
    await world.begin()
    assert "uid" not in world.look()["spec"]["claimRef"]


def test_the_claim_is_one_that_the_syncer_gives_to_the_nested_claim_of_its_name() -> None:
    found = build_claim(build_volume(taken="shop"), HOME)
    meta, own = found["metadata"], {labels.COMPONENT: labels.COMPONENT_APP, labels.CLUSTER: "hello", labels.NESTED_UID: ""}
    assert {"namespace": meta["namespace"], "name": meta["name"]} == OURS
    assert own.items() <= meta["labels"].items()
    assert labels.NESTED_DATA not in meta["annotations"]
    modes = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem"}
    assert found["spec"] == modes | {"resources": {"requests": {"storage": "5Gi"}}}


async def test_what_a_job_takes_and_what_others_have_taken_does_not_count_against_the_limit() -> None:
    """It would keep a job from the volumes that are too many."""
    kept = {"retention": "Retain", "retainedLimit": "5Gi"}
    used = build_volume("used", job="next", uid="n", taken="old", phase="Bound")
    world = World(build_volume(phase="Available", claimRef=OURS, **OWN), used, **kept)
    cast(Any, world.guest)._context.cache.jobs.put({"metadata": {"name": "next", "namespace": "team-a", "uid": "n"}, "spec": {}})
    assert await world.begin() is None
    world.control("Released", "used")
    found = await world.begin()
    assert found is not None
    assert found.reason == conditions.RETAINED_LIMIT
