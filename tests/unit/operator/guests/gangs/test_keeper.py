"""What the operator reads and writes for gangs, before an API server in memory."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.objects import status_of
from nestor.api.observed import GangStatus
from nestor.kube import ApiError, kinds
from nestor.operator.guests.gangs import keeper
from nestor.operator.guests.gangs.decide import decide
from nestor.operator.guests.gangs.keeper import POLL_SECONDS, GangKeeper
from nestor.operator.guests.gangs.observe import CLUSTER_LIMIT, POD_LIMIT, MemberTrim, trim_node, trim_pod
from nestor.pods.translate.gang_room import find_rooms
from tests.unit.operator.builders import Object
from tests.unit.operator.guests.gangs.builders import HOME, RULES, held, member, node
from tests.unit.operator.scene import Scene
from tests.waiting import eventually


class Host(Scene):
    """A host with one nested cluster, whose class has gangs."""

    def __init__(self, *nodes: Object) -> None:
        super().__init__()
        self.set_cluster(HOME)
        for item in nodes:
            self.api.put(kinds.NODE, item)
        self.keeper = GangKeeper(self.context)

    def set_cluster(self, home: str, placement: Object = RULES) -> None:
        """Have a cluster there, whose class says that."""
        meta = {"name": "hello", "namespace": home, "uid": f"of-{home}"}
        self.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}, "status": {"policy": {"placement": placement}}})

    def add(self, *pods: Object) -> None:
        for pod in pods:
            self.show(kinds.POD, pod)

    @property
    def gangs(self) -> dict[str, Object]:
        """What the status of the cluster says, by name."""
        found = self.api.look(kinds.NESTED_CLUSTER, "hello", HOME)
        return {item["name"]: item for item in status_of(found).get("gangs") or []}

    def count(self, what: str) -> int:
        return sum(item.startswith(what) for item in self.api.asked)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.keeper.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


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


async def test_it_looks_when_a_pod_of_a_gang_comes_and_survives_failures(monkeypatch: Any) -> None:
    monkeypatch.setattr(keeper, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(keeper, "SETTLE_SECONDS", 0)
    scene = Host(node("own", "4"))
    failures, faults = [ApiError(500, "InternalError", "broken")] * 2, [ValueError("nobody has thought of this")] * 2
    scene.api.refusal = lambda _, __: failures.pop() if failures else None

    def look(*given: Any) -> Any:
        if faults:
            raise faults.pop()
        return decide(*given)

    monkeypatch.setattr(keeper, "decide", look)

    async def released() -> bool:
        return scene.gangs.get("a", {}).get("state") == "Released"

    async with scene.running():
        await asyncio.sleep(0)
        scene.add(*held("a", 3))
        await eventually(released, limit=10)
    assert not failures + faults


async def test_a_cluster_whose_status_cannot_be_written_keeps_no_other_from_its_gangs() -> None:
    scene = Host(node("own", "9"))
    scene.set_cluster("other")
    scene.add(*held("a", 3), *held("a", 3, home="other"))
    scene.api.refusal = lambda _, body: ApiError(422, "Invalid", "no") if body["metadata"].get("uid") == f"of-{HOME}" else None
    assert await scene.keeper.look() == POLL_SECONDS
    other = scene.api.look(kinds.NESTED_CLUSTER, "hello", "other")
    assert status_of(other)["gangs"][0]["state"] == "Released"
    assert scene.gangs == {}


@pytest.mark.parametrize("key", ["gang-name", "gang-size", "gang-round"])
@pytest.mark.parametrize("text", ["", "x" * 513, "ü" * 100_000, "9" * 10_000, "\x1b\n\0", "-1", "\u0663"])
@pytest.mark.parametrize("released", [0, 1])
async def test_what_users_write_on_pods_ends_nobody(key: str, text: str, released: int) -> None:
    scene = Host(node("own", "9"))
    scene.add(*held("good", 3))
    for pod in held("bad", 3, released=released):
        pod["metadata"]["annotations"][f"nestor.dev/{key}"] = text
        scene.add(pod)
    await scene.keeper.look()
    assert scene.gangs["good"]["state"] == "Released"
    assert all(len(item["gang"]) <= 512 and len(item.get("message", "")) <= 4096 for item in scene.gangs.values())
    for item in scene.gangs.values():
        read(GangStatus, item)


@pytest.mark.parametrize(
    ("home", "placement"), [(HOME, {}), (HOME, {"overflow": {"backends": [{"name": "hpc"}]}}), ("users", RULES)]
)
async def test_pods_that_only_look_like_those_of_a_gang_cost_nothing(home: str, placement: Object) -> None:
    scene = Host(node("own", "9"))
    scene.set_cluster(HOME, placement)
    scene.add(*held("a", 3, home=home))
    assert await scene.keeper.look() is None
    assert scene.api.asked == []


def large(number: int, size: int, **more: Any) -> Object:
    """A pod of a gang that demands much of nodes."""
    terms = [{"matchExpressions": [{"key": f"{number}-{index}", "operator": "Exists"}]} for index in range(size)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return member("a", number, affinity={"nodeAffinity": required}, **more)


async def test_a_gang_of_pods_that_demand_too_much_waits_and_keeps_no_other_from_its_place() -> None:
    scene = Host(node("own", "9"))
    scene.add(*(large(number, 8000, age=90) for number in range(3)), *held("b", 3))
    await scene.keeper.look()
    assert scene.gangs["a"]["state"] == "Waiting"
    assert "demand too much of nodes" in scene.gangs["a"]["message"]
    assert scene.gangs["b"]["state"] == "Released"


def test_of_pods_of_gangs_little_is_kept_however_large_they_are() -> None:
    def kept(pods: list[Object]) -> list[Object]:
        trim = MemberTrim({(HOME, "hello")})
        return [trim(pod) for pod in pods]

    whole = member("a", 0, node="own", volumes=[{"name": "x"}], hostAliases=[{"ip": "192.0.2.1"}])
    whole["metadata"]["annotations"]["other"] = "x" * 1000
    (found,) = kept([whole])
    assert found["metadata"]["annotations"].keys() == {"nestor.dev/gang-name", "nestor.dev/gang-size"}
    assert found["spec"].keys() == {"nodeName", "containers", "tolerations", "schedulingGates"}
    # Of other clusters, and of the same name elsewhere.
    assert kept([member("a", 0, home="users")]) == [{"metadata": {}, "spec": {}}]
    (found,) = kept([large(0, 8000)])
    assert len(json.dumps(found)) < 1000
    assert "tooLarge" in found
    # Many that are not quite too large.
    many = [large(number, 150) for number in range(200)]
    assert len(json.dumps(many[0]["spec"])) < POD_LIMIT
    assert len(json.dumps(kept(many))) < CLUSTER_LIMIT + len(many) * 1000
    alike = kept([member("a", number) for number in range(5)])
    assert all(item["spec"]["containers"] is alike[0]["spec"]["containers"] for item in alike)


def test_of_pods_on_nodes_only_sums_are_kept_and_of_nodes_only_what_counts() -> None:
    request = {"requests": {"cpu": "1", "example.com/gpu": "1"}}
    nothing = {"requests": {f"example.com/{'x' * 40}{index}": "0" for index in range(1000)}}
    parts = [{"name": f"c{index}", "resources": request} for index in range(500)] + [{"name": "z", "resources": nothing}]
    whole = member("a", 0, node="own", phase="Running", containers=parts, volumes=[{"name": "x"}])
    kept, there = trim_pod(whole), node("own", "999")
    assert kept == {
        "metadata": {"name": "a-0"},
        "spec": {"containers": [{"resources": {"requests": {"cpu": "500", "example.com/gpu": "500"}}}], "nodeName": "own"},
        "status": {"phase": "Running"},
    }
    there["status"]["images"] = [{"names": ["x"]}]
    there["spec"] = {"taints": [{"key": "a"}], "podCIDR": "x"}
    assert trim_node(there)["spec"] == {"taints": [{"key": "a"}]}
    assert "images" not in trim_node(there)["status"]
    assert find_rooms([trim_node(there)], [kept]) == find_rooms([there], [whole])
