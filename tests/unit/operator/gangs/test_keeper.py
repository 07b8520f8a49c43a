"""What the operator reads and writes for gangs, before an API server in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nestor.kube import ApiError, kinds
from nestor.objects import status_of
from nestor.operator.gangs import keeper
from nestor.operator.gangs.keeper import POLL_SECONDS, GangKeeper, trim_node, trim_pod
from nestor.translate.gang_room import find_rooms
from tests.unit.operator.gangs.builders import HOME, RULES, Object, held, member, node
from tests.unit.operator.scene import Scene
from tests.waiting import eventually


class Host(Scene):
    """A host with one nested cluster, whose class has gangs."""

    def __init__(self, *nodes: Object) -> None:
        super().__init__()
        meta = {"name": "hello", "namespace": HOME, "uid": "c"}
        self.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}, "status": {"policy": {"placement": RULES}}})
        for item in nodes:
            self.api.put(kinds.NODE, item)
        self.keeper = GangKeeper(self.context)

    def add(self, *pods: Object) -> None:
        """Have pods there."""
        for pod in pods:
            self.show(kinds.POD, pod)

    @property
    def gangs(self) -> dict[str, Object]:
        """What the status of the cluster says, by name."""
        found = self.api.look(kinds.NESTED_CLUSTER, "hello", HOME)
        return {item["name"]: item for item in status_of(found).get("gangs") or []}

    def count(self, what: str) -> int:
        """How often something was asked for."""
        return sum(item.startswith(what) for item in self.api.asked)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the operator runs."""
        task = asyncio.create_task(self.keeper.keep())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_cluster_without_gangs_costs_nothing() -> None:
    scene = Host(node("own", "4"))
    assert await scene.keeper.look() is None
    assert scene.api.asked == []


async def test_a_complete_gang_is_let_go_in_one_write_and_others_wait_for_news() -> None:
    scene = Host(node("own", "4"))
    scene.add(*held("a", 2))
    assert await scene.keeper.look() is None  # a third pod would be news
    assert scene.gangs["a"]["message"] == "only 2 of the 3 pods of gang 'shop/a' exist"
    assert scene.count("LIST nodes") == 0
    scene.add(member("a", 2))
    assert await scene.keeper.look() == POLL_SECONDS
    found = scene.gangs["a"]
    assert (found["state"], found["place"], found["round"]) == ("Released", "host", 1)
    assert found["nodes"] == [{"key": "nestor.dev/backend", "operator": "DoesNotExist"}]
    assert scene.count("PATCH nestedclusters") == 2
    assert await scene.keeper.look() == POLL_SECONDS
    assert scene.count("PATCH nestedclusters") == 2
    # Its pods are on their way: no node has to be looked at.
    assert scene.count("LIST nodes") == 1


async def test_one_that_waits_for_room_is_looked_at_again_and_writes_only_what_changes() -> None:
    scene = Host(node("own", "2"))
    scene.add(*held("a", 3))
    assert await scene.keeper.look() == POLL_SECONDS
    writes = scene.count("PATCH")
    assert await scene.keeper.look() == POLL_SECONDS
    assert scene.count("PATCH") == writes
    scene.api.put(kinds.NODE, node("new", "1"))
    await scene.keeper.look()
    assert scene.gangs["a"]["state"] == "Released"


async def test_what_pods_of_others_take_is_not_free() -> None:
    scene = Host(node("own", "4"))
    other = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}], "nodeName": "own"}
    ended = {"metadata": {"name": "b", "namespace": "x"}, "spec": other, "status": {"phase": "Succeeded"}}
    scene.api.put(kinds.POD, {"metadata": {"name": "a", "namespace": "x"}, "spec": other, "status": {"phase": "Running"}})
    scene.api.put(kinds.POD, ended)
    scene.add(*held("a", 3))
    await scene.keeper.look()
    assert "the host cluster for 2" in scene.gangs["a"]["message"]


async def test_a_gang_whose_pods_are_gone_is_forgotten() -> None:
    scene = Host(node("own", "4"))
    scene.add(*held("a", 3))
    await scene.keeper.look()
    assert "a" in scene.gangs
    for key in list(scene.context.cache.informers[kinds.POD].store):
        del scene.context.cache.informers[kinds.POD].store[key]
    assert await scene.keeper.look() is None
    assert scene.gangs == {}
    assert status_of(scene.api.look(kinds.NESTED_CLUSTER, "hello", HOME))["policy"]


async def test_it_looks_when_a_pod_of_a_gang_comes_and_survives_failures_of_the_api_server(monkeypatch: Any) -> None:
    monkeypatch.setattr(keeper, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(keeper, "SETTLE_SECONDS", 0)
    scene = Host(node("own", "4"))
    failures = [ApiError(500, "InternalError", "broken")] * 2
    scene.api.refusal = lambda _, __: failures.pop() if failures else None

    async def released() -> bool:
        return scene.gangs.get("a", {}).get("state") == "Released"

    async with scene.running():
        await asyncio.sleep(0)
        scene.add(*held("a", 3))
        await eventually(released, limit=10)
    assert not failures


async def test_a_cluster_whose_status_cannot_be_written_keeps_no_other_from_its_gangs() -> None:
    scene = Host(node("own", "9"))
    meta = {"name": "hello", "namespace": "other", "uid": "o"}
    scene.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}, "status": {"policy": {"placement": RULES}}})
    scene.add(*held("a", 3), *held("a", 3, home="other"))
    scene.api.refusal = lambda _, body: ApiError(422, "Invalid", "no") if body["metadata"].get("uid") == "c" else None
    assert await scene.keeper.look() == POLL_SECONDS
    other = scene.api.look(kinds.NESTED_CLUSTER, "hello", "other")
    assert status_of(other)["gangs"][0]["state"] == "Released"
    assert scene.gangs == {}


def test_of_pods_and_nodes_only_what_counts_is_kept() -> None:
    whole = member("a", 0, node="own", phase="Running", volumes=[{"name": "x"}], initContainers=[{"name": "i", "image": "y"}])
    kept = trim_pod(whole)
    assert kept == {
        "metadata": {"name": "a-0"},
        "spec": {"nodeName": "own", "containers": [{"resources": {"requests": {"cpu": "1"}}}], "initContainers": [{}]},
        "status": {"phase": "Running"},
    }
    there = node("own", "4")
    there["status"]["images"] = [{"names": ["x"]}]
    there["spec"] = {"taints": [{"key": "a"}], "podCIDR": "x"}
    assert trim_node(there)["spec"] == {"taints": [{"key": "a"}]}
    assert "images" not in trim_node(there)["status"]
    assert find_rooms([trim_node(there)], [kept]) == find_rooms([there], [whole])
