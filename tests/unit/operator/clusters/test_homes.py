"""The namespace of a job's cluster: made, known again, never adopted."""

from types import SimpleNamespace
from typing import Any

import pytest

from nestor.api import labels
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.kube import RetryLater, kinds
from nestor.operator.clusters.homes import ensure_home
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import build_policy
from tests.unit.operator.scene import HOME, Scene

WORDS = {
    f"POST namespaces {HOME}": "create",
    f"GET namespaces {HOME}": "get",
    f"APPLY namespaces {HOME}": "apply",
    f"DELETE namespaces {HOME}": "delete",
    "GET nestedappjobs team-a/hello": "find",
    "APPLY nestedappjobs team-a/hello/status": "record",
}


class World(Scene):
    """A job with one namespace or none, and what is forgotten."""

    def __init__(
        self, uid: str = "", *, is_cached: bool = True, recorded: str | None = "n1", cached: str | None = "n1", **namespace: Any
    ) -> None:
        """`recorded`: the UID in the job's status; `cached`: the one that the cache knows."""
        super().__init__()
        self.is_cached = is_cached
        self.forgotten: list[str] = []
        self.context.provisioner = SimpleNamespace(forget=lambda *key: self.forgotten.append("/".join(key)))  # type: ignore[assignment]
        self.add_job()
        self.settle(status={"kept": "kept"} | ({"namespaceUID": cached} if cached else {}))
        self.note(recorded)
        if uid:
            self.make(uid, **namespace)

    def note(self, recorded: str | None) -> None:
        status = {"kept": "kept"} | ({"namespaceUID": recorded} if recorded else {})
        self.api.put(kinds.NESTED_APP_JOB, self.job | {"status": status})

    def make(self, uid: str, owner: str | None = "1234", **meta: Any) -> None:
        """Have a namespace of that UID in place of any other."""
        if self.api.look(kinds.NAMESPACE, HOME):
            self.api.drop(kinds.NAMESPACE, HOME)
        marks = {labels.JOB_UID: owner} if owner else {}
        self.api.put(kinds.NAMESPACE, {"metadata": {"name": HOME, "uid": uid, "labels": marks, **meta}})

    @property
    def asked(self) -> list[str]:
        return [WORDS[line] for line in self.api.asked]

    async def ensure(self) -> Home:
        if self.is_cached and self.api.look(kinds.NAMESPACE, HOME):
            self.show_home()
        forget = lambda: self.forgotten.append("the job's")  # noqa: E731
        return await ensure_home(self.context, (), find_home(self.job), build_policy(), forget)


@pytest.mark.parametrize(
    ("world", "asked"),
    [
        (World(recorded=None, cached=None), ["create", "record", "apply"]),
        (World(recorded="n0", cached="n0"), ["create", "record", "apply"]),
        (World("n1"), ["apply"]),
        (World("n1", is_cached=False), ["create", "get", "apply"]),
        (World("n1", cached=None), ["find", "apply"]),
        (World("n1", cached="n0"), ["find", "apply"]),
    ],
    ids=["made", "made again", "known", "ahead of the cache", "recorded by an earlier operator", "the same, made again"],
)
async def test_a_home_comes_with_its_namespace_as_an_owner(world: World, asked: list[str]) -> None:
    home, owner = await world.ensure(), world.look(kinds.NAMESPACE, HOME, "")["metadata"]["uid"]
    assert world.asked == asked
    assert world.forgotten == []
    assert world.job["status"]["namespaceUID"] == owner
    assert (home.nodes_binding_owner or {}).items() >= {"uid": owner, "kind": kinds.NAMESPACE.name}.items()
    written = [body["status"] for word, body in zip(world.asked, world.api.bodies, strict=True) if word == "record"]
    assert all(status["kept"] == "kept" for status in written)


@pytest.mark.parametrize("owner", [None, "another"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_namespace_that_is_not_the_jobs_is_never_adopted(owner: str | None, is_cached: bool) -> None:
    world = World("n1", owner=owner, is_cached=is_cached)
    with pytest.raises(ForeignObject, match="already exists and does not belong to this job"):
        await world.ensure()
    assert not {"apply", "delete"} & set(world.asked)


async def test_what_was_made_in_a_namespace_is_forgotten_with_it() -> None:
    world = World("n1")
    await world.ensure()
    await world.ensure()
    assert (world.asked, world.forgotten) == (["apply"], [])
    world.make("n2")
    world.note("n2")
    await world.ensure()
    assert world.forgotten == [f"{HOME}/hello", "the job's"]


async def test_a_namespace_that_goes_is_waited_for_and_forgotten() -> None:
    world = World("n1")
    await world.ensure()
    world.make("n1", deletionTimestamp="now")
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.forgotten == [f"{HOME}/hello", "the job's"]
    assert world.asked == ["apply"]


async def test_what_was_recorded_is_known_from_then_on() -> None:
    world = World(recorded=None, cached=None)
    for _ in range(2):
        await world.ensure()
    assert world.asked == ["create", "record", "apply"]


@pytest.mark.parametrize("recorded", [None, "n0"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_namespace_that_the_status_does_not_have_is_made_again(recorded: str | None, is_cached: bool) -> None:
    world = World("n1", recorded=recorded, cached=recorded, is_cached=is_cached)
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.asked[-2:] == ["find", "delete"]
    assert world.api.look(kinds.NAMESPACE, HOME) is None


async def test_a_namespace_that_goes_needs_no_proof_and_is_not_deleted_again() -> None:
    world = World("n1", deletionTimestamp="now", recorded=None, cached=None)
    with pytest.raises(RetryLater):
        await world.ensure()
    assert world.asked == []
