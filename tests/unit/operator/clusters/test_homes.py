"""The namespace of a job's cluster: made, known again, never adopted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.kube import Conflict, Kind, RetryLater, kinds
from nestor.kube.applier import Applier
from nestor.operator.clusters.homes import ensure_home
from nestor.operator.world.context import Context
from tests.unit.operator.builders import build_policy

Object = dict[str, Any]

HOME = Home(name="hello", namespace="home", labels={labels.JOB: "hello", labels.JOB_UID: "1234"})


class World:
    """An API server with one namespace or none, a cache of it, and what is forgotten."""

    def __init__(self, live: Object | None = None, *, is_cached: bool = True, role: str | None = None) -> None:
        self.live = live
        self.role = role
        self.cluster: Object | None = None
        self.is_cached = is_cached
        self.asked: list[str] = []
        self.forgotten: list[str] = []
        self.context = cast(
            Context,
            SimpleNamespace(
                api=self,
                cache=SimpleNamespace(
                    find=lambda *_: self.live if self.is_cached else None, clusters=SimpleNamespace(get=lambda *_: self.cluster)
                ),
                made={},
                applier=Applier(cast(Any, self), {kinds.NAMESPACE: cast(Any, SimpleNamespace(get=lambda *_: self.live))}),
                provisioner=SimpleNamespace(forget=lambda *key: self.forgotten.append("/".join(key))),
            ),
        )

    async def create(self, kind: Kind, body: Object) -> Object:
        """One of that name may be there."""
        self.asked.append("create")
        if self.live is not None:
            raise Conflict(409, "AlreadyExists", "namespaces already exists")
        self.live = body | {"metadata": body["metadata"] | {"uid": "n1"}}
        return self.live

    async def get(self, kind: Kind, name: str) -> Object:
        """As it is."""
        self.asked.append("get")
        return cast(Object, self.live)

    async def apply(self, kind: Kind, body: Object) -> Object:
        """As it should be."""
        self.asked.append("apply")
        return cast(Object, self.live)

    async def find(self, kind: Kind, name: str, namespace: str) -> Object | None:
        """The syncer's binding."""
        self.asked.append("find")
        assert (kind, name, namespace) == (kinds.ROLE_BINDING, "hello-syncer", "home")
        return {"roleRef": {"name": self.role}} if self.role else None

    async def delete(self, kind: Kind, name: str, *, uid: str) -> bool:
        """It goes."""
        self.asked.append(f"delete {uid}")
        return True

    async def ensure(self, recorded: str | None = "n1") -> Home:
        """One pass."""
        return await ensure_home(self.context, HOME, build_policy(), lambda: self.forgotten.append("the job's"), recorded)


def namespace(uid: str = "n1", job: str | None = "1234", **meta: Any) -> Object:
    """A namespace of that job."""
    marks = {labels.JOB_UID: job} if job else {}
    return {"metadata": {"name": "home", "uid": uid, "labels": marks, **meta}}


@pytest.mark.parametrize(
    ("world", "asked"),
    [
        (World(), ["create", "apply"]),
        (World(namespace()), ["apply"]),
        (World(namespace(), is_cached=False), ["create", "get", "apply"]),
    ],
    ids=["made", "known", "ahead of the cache"],
)
async def test_a_home_comes_with_its_namespace_as_an_owner(world: World, asked: list[str]) -> None:
    home = await world.ensure()
    assert world.asked == asked
    assert world.forgotten == []
    assert (home.nodes_binding_owner or {})["uid"] == "n1"
    assert (home.nodes_binding_owner or {})["kind"] == kinds.NAMESPACE.name


@pytest.mark.parametrize("job", [None, "another"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_namespace_that_is_not_the_jobs_is_never_adopted(job: str | None, is_cached: bool) -> None:
    world = World(namespace(job=job), is_cached=is_cached)
    with pytest.raises(ForeignObject, match="already exists and does not belong to this job"):
        await world.ensure()
    assert "apply" not in world.asked


async def test_what_was_made_in_a_namespace_is_forgotten_with_it() -> None:
    world = World(namespace("n1"))
    await world.ensure()
    await world.ensure()
    assert world.forgotten == []
    world.live = namespace("n2")
    await world.ensure("n2")
    assert world.forgotten == ["home/hello", "the job's"]


async def test_a_namespace_that_goes_is_waited_for_and_forgotten() -> None:
    world = World(namespace("n1"))
    await world.ensure()
    world.live = namespace("n1", deletionTimestamp="now")
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.forgotten == ["home/hello", "the job's"]
    assert world.asked == ["apply"]


async def test_what_this_process_made_needs_no_other_proof() -> None:
    world = World()
    for _ in range(2):
        await world.ensure(recorded=None)
    assert world.asked == ["create", "apply"]


@pytest.mark.parametrize("recorded", [None, "n0"])
async def test_after_a_restart_the_syncers_binding_proves_who_made_it(recorded: str | None) -> None:
    world = World(namespace(), role="nestor-syncer")
    for _ in range(2):
        await world.ensure(recorded)
    assert world.asked == ["find", "apply"]
    assert world.context.made == {"home": "n1"}


@pytest.mark.parametrize("role", [None, "admin"])
@pytest.mark.parametrize("recorded", [None, "n0"])
async def test_a_namespace_that_somebody_made_beforehand_is_made_again(role: str | None, recorded: str | None) -> None:
    world = World(namespace(), role=role)
    with pytest.raises(RetryLater):
        await world.ensure(recorded)
    assert world.asked == ["find", "delete n1"]
    assert world.context.made == {}


async def test_one_that_already_has_a_cluster_is_neither_taken_nor_deleted() -> None:
    world = World(namespace())
    world.cluster = {"metadata": {"name": "hello"}}
    with pytest.raises(ForeignObject, match="already exists and does not belong to this job") as refused:
        await world.ensure(recorded=None)
    assert str(refused.value).endswith(": delete the job and create it again, or have an administrator delete the namespace")
    assert world.asked == ["find"]


async def test_a_namespace_that_goes_needs_no_proof_and_is_not_deleted_again() -> None:
    world = World(namespace(deletionTimestamp="now"))
    with pytest.raises(RetryLater):
        await world.ensure(recorded=None)
    assert world.asked == []
    assert world.context.made == {}
