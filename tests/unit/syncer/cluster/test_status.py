"""The runner's record and the count of pods."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.data import read
from nestor.api.model import PodCounts
from nestor.api.placement import Placement
from nestor.kube import Invalid, kinds
from nestor.kube.pace import Rate
from nestor.syncer import limits
from nestor.syncer.cluster import status as cluster_status
from nestor.syncer.cluster.status import ClusterStatus
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod
from tests.unit.syncer.at_work import at_work, build_context
from tests.waiting import comes_true


def record(text: str) -> dict[str, Any]:
    return {"data": {"run.json": text}}


def steps(*found: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "hash": "x", "state": "Running", "steps": list(found)} | more


STEP = {"name": "web", "type": "kubectl", "state": "Running", "attempt": 1, "maxAttempts": 2, "hash": "h", "sha256": "s"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (steps(STEP), steps(STEP)),
        # Messages are no longer than a runner writes them, and fields of a newer runner are left out.
        (steps({"name": "a", "message": "x" * 32_000}), steps({"name": "a", "message": "x" * 5000})),
        (steps({"name": "a", "message": "", "mood": "bad"}, mood="good"), steps({"name": "a", "message": ""})),
        # What cannot be read is none.
        ("{", None),
        ([], None),
        ("[" * 200_000, None),
        (json.dumps(steps()) + " " * 300_000, None),
        ({"state": "Nonsense"}, None),
        ({"steps": [{"state": "Running"}]}, None),
    ],
)
def test_the_runner_s_record(written: Any, read: dict[str, Any] | None) -> None:
    assert cluster_status.read_run(record(written if isinstance(written, str) else json.dumps(written))) == read


@pytest.mark.parametrize("config_map", [None, {}, {"data": {}}])
def test_no_record(config_map: dict[str, Any] | None) -> None:
    assert cluster_status.read_run(config_map) is None


def test_finished_pods_are_not_counted() -> None:
    pods = [build_pod() | {"status": {"phase": phase}} for phase in ("Running", "Running", "Pending", "Failed", "Succeeded")]
    assert cluster_status.count_pods([*pods, build_pod()]) == {"running": 2, "waiting": 2}


def pod_on(node: str, phase: str) -> dict[str, Any]:
    return build_pod(nodeName=node) | {"status": {"phase": phase}}


NODES = {
    "own": {"metadata": {"name": "own", "labels": {}}},
    "link": {"metadata": {"name": "link", "labels": {"nestor.dev/backend": "link"}}},
    "aci": {"metadata": {"name": "aci", "labels": {"type": "virtual-kubelet"}}},
}
PLACES = read(
    Placement, {"overflow": {"backends": [{"name": "azure", "nodeSelector": {"type": "virtual-kubelet"}}, {"name": "link"}]}}
)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([], []),
        ([build_pod()], []),
        ([pod_on("own", "Running"), pod_on("own", "Pending"), pod_on("own", "Failed")], [("host", 1, 1)]),
        (
            [pod_on("link", "Running"), pod_on("aci", "Pending"), pod_on("own", "Running")],
            [("host", 1, 0), ("azure", 0, 1), ("link", 1, 0)],
        ),
        # What is not known yet, and what has ended.
        ([pod_on("new", "Running"), pod_on("link", "Succeeded")], []),
    ],
)
def test_pods_are_counted_place_by_place(pods: list[Any], expected: list[tuple[str, int, int]]) -> None:
    found = cluster_status.count_places(pods, NODES, PLACES, lambda _: None)
    assert [(item["name"], item["running"], item["starting"]) for item in found] == expected
    assert PodCounts.model_validate({"places": found})


def test_why_most_of_the_pods_are_at_a_backend_is_told() -> None:
    pods, hosts = [], {}
    for number, reason in enumerate(["it requests 'nvidia.com/gpu'", "", "", "x" * 2000]):
        pods.append(pod_on("link", "Running"))
        pods[-1]["metadata"] = pods[-1]["metadata"] | {"uid": f"uid-{number}"}
        hosts[f"uid-{number}"] = {"metadata": {"annotations": {labels.PLACE_REASON: reason} if reason else {}}}
    pods.append(pod_on("own", "Running"))
    host, link = cluster_status.count_places(pods, NODES, PLACES, hosts.get)
    assert host == {"name": "host", "running": 1, "starting": 0}
    assert link == {"name": "link", "running": 4, "starting": 0, "reason": "no node of the host cluster could take it"}
    del hosts["uid-0"], hosts["uid-1"], hosts["uid-2"]
    found = cluster_status.count_places(pods, NODES, PLACES, hosts.get)
    assert found[1]["reason"] == "x" * 1024
    assert PodCounts.model_validate({"places": found})


class Scene:
    """A cluster whose status is written, between two API servers in memory."""

    def __init__(self, **spec: Any) -> None:
        self.host, self.nested, self.is_creating = MemoryApi(), MemoryApi(), False
        meta = {"name": TARGET.cluster, "namespace": TARGET.namespace}
        cluster = self.host.put(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": spec})
        self._context = build_context(self.host, self.nested)
        self.status = ClusterStatus(self._context, cluster, lambda: self.is_creating)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with at_work(self._context.caches, self.status.queue):
            yield

    @property
    def applied(self) -> list[dict[str, Any]]:
        """What was written, one after the other."""
        return [
            body["status"] for asked, body in zip(self.host.asked, self.host.bodies, strict=True) if asked.startswith("APPLY")
        ]

    def record(self, number: int) -> None:
        meta = {"name": "nestor-run", "namespace": "kube-system"}
        self.nested.put(kinds.CONFIG_MAP, {"metadata": meta} | record(json.dumps(steps(hash=str(number)))))

    def add_pod(self) -> None:
        pod = build_pod()
        number = len(self.nested.objects)
        self.nested.put(kinds.POD, pod | {"metadata": pod["metadata"] | {"name": f"web-{number}", "uid": f"uid-{number}"}})

    async def until(self, check: Callable[[dict[str, Any]], bool]) -> None:
        await comes_true(lambda: self.applied and check(self.applied[-1]), limit=20)


async def test_the_status_is_written_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STATUS_WRITES", Rate(per_second=10, burst=3))
    scene = Scene()
    async with scene.running():
        for number in range(101):
            scene.record(number)
            scene.status.set_ready(ready=number % 2 == 0, message=str(number))
            await asyncio.sleep(0.001)
        await scene.until(lambda status: bool(status["conditions"][0]["message"] == status["run"]["hash"] == "100"))
    assert len(scene.applied) < 30


async def test_the_number_of_pods_is_written_now_and_then_and_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COUNT_WRITES", Rate(per_second=0.001, burst=2))
    monkeypatch.setattr(cluster_status, "_COUNT_DELAY", 0.001)
    scene = Scene()
    async with scene.running():
        scene.status.set_ready(ready=False, message="")
        await scene.until(lambda status: bool(status["pods"]["waiting"] == 0))
        scene.add_pod()
        await scene.until(lambda status: bool(status["pods"]["waiting"] == 1))
        scene.add_pod()
        await scene.until(lambda status: bool(status["pods"]["waiting"] == 2))
        for _ in range(50):
            scene.add_pod()
            await asyncio.sleep(0.001)
        assert scene.applied[-1]["pods"]["waiting"] == 2
        scene.status.set_ready(ready=True, message="")
        await scene.until(lambda status: bool(status["pods"]["waiting"] == 52))
    assert [item["pods"]["waiting"] for item in scene.applied] == [0, 1, 2, 52]


async def test_the_last_number_of_pods_is_written_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COUNT_WRITES", Rate(per_second=2, burst=1))
    monkeypatch.setattr(cluster_status, "_COUNT_DELAY", 0.001)
    scene = Scene()
    async with scene.running():
        scene.status.set_ready(ready=True, message="")
        for _ in range(50):
            scene.add_pod()
            await asyncio.sleep(0.001)
        await scene.until(lambda status: bool(status["pods"]["waiting"] == 50))
    assert len(scene.applied) < 25


async def test_a_record_that_the_host_refuses_hides_nothing() -> None:
    scene, error = Scene(), Invalid(422, "Invalid", "status.run.steps: too many")
    scene.host.refusal = lambda verb, body: error if verb == "APPLY" and "run" in body["status"] else None
    async with scene.running():
        scene.record(1)
        scene.status.set_ready(ready=True, message="it works")
        await scene.until(lambda status: bool(status["conditions"][0]["status"] == "True" and "run" not in status))


@pytest.mark.parametrize(
    ("is_suspended", "phases", "is_creating", "is_complete"),
    [
        (True, [], False, True),
        (True, ["Succeeded"], False, True),
        (True, ["Succeeded", "Running"], False, False),
        (True, [], True, False),
        (False, [], False, False),
    ],
)
async def test_when_a_suspend_is_complete(is_suspended: bool, phases: list[str], is_creating: bool, is_complete: bool) -> None:
    scene = Scene(suspend=is_suspended)
    scene.is_creating = is_creating
    for number, phase in enumerate(phases):
        pod = build_host_pod(status={"phase": phase})
        pod["metadata"] |= {"name": f"web-{number}", "labels": pod["metadata"]["labels"] | {labels.CLUSTER: TARGET.cluster}}
        scene.host.put(kinds.POD, pod)
    async with scene.running():
        scene.status.set_ready(ready=True, message="")
        await scene.until(lambda status: status["suspended"] is is_complete)
        scene.is_creating = False
        await scene.until(lambda status: status["suspended"] is (is_complete or is_creating))
