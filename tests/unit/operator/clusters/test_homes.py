"""The namespace of a job's cluster: made, known again, never adopted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.kube import Api, Conflict, Informer, Kind, RetryLater, kinds
from nestor.kube.applier import Applier
from nestor.operator.clusters.homes import ensure_home
from nestor.operator.world.context import Context
from tests.unit.operator.builders import build_policy

Object = dict[str, Any]

HOME = Home(name="hello", namespace="home", labels={labels.JOB: "hello", labels.JOB_NAMESPACE: "team", labels.JOB_UID: "1234"})


class World:
    """An API server with one namespace or none and a job, a cache of them, and what is forgotten."""

    def __init__(
        self, live: Object | None = None, *, is_cached: bool = True, recorded: str | None = "n1", cached: str | None = "n1"
    ) -> None:
        """`recorded`: the UID in the job's status; `cached`: the one that the cache knows."""
        self.live = live
        self.job = job(recorded)
        self.is_cached = is_cached
        self.asked: list[str] = []
        self.forgotten: list[str] = []
        jobs = Informer(cast(Api, None), kinds.NESTED_APP_JOB)
        jobs.put(job(cached))
        known: Any = SimpleNamespace(find=lambda *_: self.live if self.is_cached else None, jobs=jobs)
        known.informers = {kinds.NESTED_APP_JOB: jobs}
        applier = Applier(cast(Any, self), {kinds.NAMESPACE: cast(Any, SimpleNamespace(get=lambda *_: self.live))})
        provisioner: Any = SimpleNamespace(forget=lambda *key: self.forgotten.append("/".join(key)))
        nothing: Any = None
        self.context = Context(cast(Any, self), nothing, known, nothing, nothing, nothing, applier, provisioner)

    async def create(self, kind: Kind, body: Object) -> Object:
        self.asked.append("create")
        if self.live is not None:
            raise Conflict(409, "AlreadyExists", "namespaces already exists")
        self.live = body | {"metadata": body["metadata"] | {"uid": "n1"}}
        return self.live

    async def get(self, kind: Kind, name: str) -> Object:
        self.asked.append("get")
        return cast(Object, self.live)

    async def apply(self, kind: Kind, body: Object, subresource: str | None = None) -> Object:
        """As it should be. Of the job, its status."""
        if kind is kinds.NAMESPACE:
            self.asked.append(f"apply {body['metadata']['uid']}")
            return cast(Object, self.live)
        assert (subresource, body["metadata"]["uid"]) == ("status", "1234")
        self.asked.append(f"record {body['status']['namespaceUID']}")
        assert body["status"]["kept"] == "kept"
        self.job = job(body["status"]["namespaceUID"])
        self.job["metadata"]["resourceVersion"] = "2"
        return self.job

    async def find(self, kind: Kind, name: str, namespace: str) -> Object | None:
        self.asked.append("find")
        assert (kind, name, namespace) == (kinds.NESTED_APP_JOB, "hello", "team")
        return self.job

    async def delete(self, kind: Kind, name: str, *, uid: str) -> bool:
        self.asked.append(f"delete {uid}")
        return True

    async def ensure(self) -> Home:
        return await ensure_home(self.context, (), HOME, build_policy(), lambda: self.forgotten.append("the job's"))


def job(recorded: str | None) -> Object:
    meta = {"name": "hello", "namespace": "team", "uid": "1234", "resourceVersion": "1"}
    return {"metadata": meta, "status": {"kept": "kept"} | ({"namespaceUID": recorded} if recorded else {})}


def namespace(uid: str = "n1", owner: str | None = "1234", **meta: Any) -> Object:
    marks = {labels.JOB_UID: owner} if owner else {}
    return {"metadata": {"name": "home", "uid": uid, "labels": marks, **meta}}


@pytest.mark.parametrize(
    ("world", "asked"),
    [
        (World(recorded=None, cached=None), ["create", "record n1", "apply n1"]),
        (World(recorded="n0", cached="n0"), ["create", "record n1", "apply n1"]),
        (World(namespace()), ["apply n1"]),
        (World(namespace(), is_cached=False), ["create", "get", "apply n1"]),
        (World(namespace(), cached=None), ["find", "apply n1"]),
        (World(namespace(), cached="n0"), ["find", "apply n1"]),
    ],
    ids=["made", "made again", "known", "ahead of the cache", "recorded by an earlier operator", "the same, made again"],
)
async def test_a_home_comes_with_its_namespace_as_an_owner(world: World, asked: list[str]) -> None:
    home = await world.ensure()
    assert world.asked == asked
    assert world.forgotten == []
    assert (home.nodes_binding_owner or {})["uid"] == "n1"
    assert (home.nodes_binding_owner or {})["kind"] == kinds.NAMESPACE.name


@pytest.mark.parametrize("owner", [None, "another"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_namespace_that_is_not_the_jobs_is_never_adopted(owner: str | None, is_cached: bool) -> None:
    world = World(namespace(owner=owner), is_cached=is_cached)
    with pytest.raises(ForeignObject, match="already exists and does not belong to this job"):
        await world.ensure()
    assert not {"apply n1", "delete n1"} & set(world.asked)


async def test_what_was_made_in_a_namespace_is_forgotten_with_it() -> None:
    world = World(namespace("n1"))
    await world.ensure()
    await world.ensure()
    assert world.forgotten == []
    world.live = namespace("n2")
    world.job = job("n2")
    await world.ensure()
    assert world.forgotten == ["home/hello", "the job's"]


async def test_a_namespace_that_goes_is_waited_for_and_forgotten() -> None:
    world = World(namespace("n1"))
    await world.ensure()
    world.live = namespace("n1", deletionTimestamp="now")
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.forgotten == ["home/hello", "the job's"]
    assert world.asked == ["apply n1"]


async def test_what_was_recorded_is_known_from_then_on() -> None:
    world = World(recorded=None, cached=None)
    for _ in range(2):
        await world.ensure()
    assert world.asked == ["create", "record n1", "apply n1"]


@pytest.mark.parametrize("recorded", [None, "n0"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_namespace_that_the_status_does_not_have_is_made_again(recorded: str | None, is_cached: bool) -> None:
    world = World(namespace(), recorded=recorded, cached=recorded, is_cached=is_cached)
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.asked[-2:] == ["find", "delete n1"]


async def test_a_namespace_that_goes_needs_no_proof_and_is_not_deleted_again() -> None:
    world = World(namespace(deletionTimestamp="now"), recorded=None, cached=None)
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.asked == []
