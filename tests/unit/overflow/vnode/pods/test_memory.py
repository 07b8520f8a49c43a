"""Pods that should have ended are noted in the OverflowBackend, and the next process has them ended."""

import asyncio
import datetime
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from nestor.api import times
from nestor.api.objects import Object, status_of
from nestor.api.overflowbackend import OverflowBackendStatus, UnconfirmedPod
from nestor.kube import Api, ApiError, kinds
from nestor.overflow.interlink.build import build_delete, build_question
from nestor.overflow.interlink.statuses import build_status
from nestor.overflow.interlink.wire import PodAnswer
from nestor.overflow.vnode.backend.view import BackendView
from nestor.overflow.vnode.pods import decide, orphans
from nestor.overflow.vnode.pods.entry import Home
from nestor.overflow.vnode.pods.orphans import Memory
from tests.unit.overflow.vnode.world import BACKEND, NODE, SPACE, World, first


@pytest.fixture
async def world(world: World) -> World:
    spec = {"type": "Interlink", "interlink": {"url": "https://x.example"}}
    world.api.put(kinds.OVERFLOW_BACKEND, {"metadata": {"name": BACKEND, "generation": 1}, "spec": spec, "status": {}})
    return world


@pytest.fixture(autouse=True)
def remembered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "NOTE_SECONDS", -1000.0)
    monkeypatch.setattr(orphans, "KEEP_SECONDS", 0.01)


@asynccontextmanager
async def remembering(
    world: World, *, is_needed: bool = True, find_nodes: Callable[[], frozenset[str]] = lambda: frozenset({NODE})
) -> AsyncIterator[Memory]:
    view = BackendView(cast(Api, world.api), look(world), world.health)
    made = Memory(view, world.pods.registry, find_nodes, is_needed=is_needed)
    tasks = [asyncio.create_task(view.informer.run()), asyncio.create_task(made.run())]
    yield made
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def look(world: World) -> Object:
    found = world.api.look(kinds.OVERFLOW_BACKEND, BACKEND)
    assert found is not None
    return found


def noted(world: World) -> list[UnconfirmedPod]:
    return OverflowBackendStatus.model_validate(status_of(look(world))).unconfirmed_pods


async def note(world: World, *items: UnconfirmedPod) -> None:
    status = {"unconfirmedPods": [item.model_dump(by_alias=True) for item in items]}
    await world.api.apply(kinds.OVERFLOW_BACKEND, {"metadata": {"name": BACKEND}, "status": status}, subresource="status")


def item(uid: str, *, age: float = 60, **fields: Any) -> UnconfirmedPod:
    """A note of some age, in seconds."""
    since = times.write(times.now() - datetime.timedelta(seconds=age))
    return UnconfirmedPod(uid=uid, namespace=SPACE, name="old", node=NODE, containers=["app"], since=since, **fields)


async def test_a_pod_that_is_gone_here_and_perhaps_not_there_outlives_the_process(world: World) -> None:
    uid = await world.accept(initContainers=[{"name": "first", "image": "example/web:1"}])
    async with remembering(world):
        world.backend.is_down = True
        world.api.drop(kinds.POD, "web", SPACE)
        await world.until(lambda: noted(world))
    (found,) = noted(world)
    assert (found.uid, found.namespace, found.name, found.node) == (uid, SPACE, "web", NODE)
    assert (found.containers, found.init_containers) == (["app"], ["first"])
    await world.stop()
    world.backend.is_down = False
    await world.start()
    assert world.pods.registry.get(uid) is None
    async with remembering(world):
        await world.until(lambda: uid not in world.backend.pods)
        await world.until(lambda: not noted(world))
    assert world.pods.registry.get(uid) is None


async def test_what_ends_in_time_is_not_noted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "NOTE_SECONDS", 10.0)
    uid = await world.run()
    other = await world.run("other")
    async with remembering(world) as kept:
        world.backend.ends_at_once = False
        world.delete("web", grace=30)
        await world.until(lambda: world.backend.count("delete"))
        await kept.keep()
        assert noted(world) == []
        world.entry(uid).ending_since = time.monotonic() - 60
        await world.until(lambda: noted(world))
        assert [found.uid for found in noted(world)] == [uid]
        world.backend.finish(uid)
        world.pods.queue.add(uid)
        await world.phase("web", None)
        await world.until(lambda: not noted(world))
    assert other in world.backend.pods


async def test_what_is_still_a_pod_here_is_left_to_its_fate(world: World) -> None:
    """It was noted while it was ending, or somebody has written nonsense: a pod that runs must not be ended."""
    uid = await world.run()
    await note(world, item(uid))
    async with remembering(world) as kept:
        await world.until(lambda: not noted(world))
        await kept.keep()
    await world.settle()
    assert world.backend.count("delete") == 0
    assert (world.look("web") or {})["status"]["phase"] == "Running"


async def test_until_all_pods_are_known_notes_stay_as_they_are(world: World) -> None:
    await note(world, item("old"))
    asked: list[frozenset[str]] = []

    def find_nodes() -> frozenset[str]:
        asked.append(frozenset({NODE, "other"} if len(asked) % 2 else ()))
        return asked[-1]

    async with remembering(world, find_nodes=find_nodes):
        await world.until(lambda: len(asked) > 4)
        assert [found.uid for found in noted(world)] == ["old"]
    assert world.backend.count("delete") == 0


async def test_a_backend_that_can_list_its_pods_is_not_told_to_end_them_by_notes(world: World) -> None:
    await note(world, item("old"))
    async with remembering(world, is_needed=False):
        await world.until(lambda: not noted(world))
    assert world.backend.count("delete") == 0


@pytest.mark.parametrize(("age", "said"), [(decide.FORGET_SECONDS + 60, ""), (decide.ORPHAN_SECONDS + 60, "after 24 h")])
async def test_time_goes_on_across_processes(world: World, age: float, said: str) -> None:
    """The backend never confirms the end: that is told, and after a day nobody asks any more."""
    world.backend.fault = lambda call, _: ApiError(500, "InternalError", "no") if call in ("delete", "get") else None
    await note(world, item("old", age=age))
    async with remembering(world):
        await world.until(lambda: "LeftAtBackend" in world.events)
        assert "UID old" in world.message("LeftAtBackend")
        assert said in world.message("LeftAtBackend")
        about = world.event("LeftAtBackend")["involvedObject"]
        assert (about["kind"], about["name"]) == ("Node", NODE)
        if said:
            await world.until(lambda: not noted(world))
            assert world.pods.registry.get("old") is None
        else:
            assert [found.uid for found in noted(world)] == ["old"]


async def test_the_list_has_a_limit_and_the_oldest_stay(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "LEFT_LIMIT", 2)
    world.backend.is_down = True
    await note(world, item("new", age=1), item("old", age=3600), item("middle", age=600))
    async with remembering(world):
        await world.until(lambda: [found.uid for found in noted(world)] == ["old", "middle"])
        assert len(world.pods.registry) == 3


async def test_what_cannot_be_written_is_written_later(world: World) -> None:
    await note(world, item("old"))
    world.backend.is_down = True
    world.api.refusal = first(3, "APPLY", ApiError(503, "Unavailable", "away"))
    async with remembering(world):
        await world.until(lambda: sum(item.startswith("APPLY") for item in world.api.asked) > 4)
    assert [found.uid for found in noted(world)] == ["old"]


def test_what_is_noted_is_enough_for_an_interlink_backend() -> None:
    found = orphans._build_entry([Home(NODE, "default", cast(Api, None))], item("old", init_containers=["first"]))
    deleted = build_delete(found.last, 0, "2026-01-01T00:00:00Z")
    assert {"name": "old", "namespace": SPACE, "uid": "old"}.items() <= deleted["metadata"].items()
    for message in (deleted, build_question(found.last)):
        assert [part["name"] for part in message["spec"]["containers"]] == ["app"]
        assert [part["name"] for part in message["spec"]["initContainers"]] == ["first"]
    state = {"terminated": {"exitCode": 0}}
    containers, init = ([{"name": name, "state": state}] for name in ("app", "first"))
    answer = PodAnswer(uid="old", containers=containers, init_containers=init)
    assert build_status(found.last, answer, times.now())["phase"] == "Succeeded"
