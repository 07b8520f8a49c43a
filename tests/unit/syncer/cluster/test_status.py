"""The runner's record and the count of pods."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.data import read
from nestor.api.model import PodCounts
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.kube import Change, Invalid, kinds
from nestor.kube.pace import Rate
from nestor.syncer import limits
from nestor.syncer.cluster import status as cluster_status
from nestor.syncer.cluster.status import ClusterStatus
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod
from tests.unit.syncer import fakes
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


class Informed:
    """An informer without a cluster: the objects and changes that a test tells of."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []
        self.objects: list[Any] = []

    def on_change(self, handler: Any) -> None:
        self.handlers.append(handler)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.objects)


class Written:
    """A status whose host notes what is applied to it."""

    def __init__(self) -> None:
        self.applied: list[dict[str, Any]] = []
        self.config_maps, self.pods, self.host_pods = Informed(), Informed(), Informed()
        self.is_creating = False
        informed = {kinds.CONFIG_MAP: self.config_maps, kinds.POD: self.pods}
        caches = fakes.context(host_cluster=Informed(), host_nodes=Informed(), nested=informed.get, host=lambda _: self.host_pods)
        caches.policy, caches.is_suspended = Policy(), False
        self.caches = caches
        context = fakes.context(caches=caches, host=self, target=TARGET)
        self.status = ClusterStatus(context, {"metadata": {"name": "hello", "generation": 1}}, lambda: self.is_creating)
        self.status.set_version("v1.36.3")

    async def apply(self, kind: Any, body: dict[str, Any], *, subresource: str) -> None:
        assert (kind, subresource) == (kinds.NESTED_CLUSTER, "status")
        self.applied.append(body["status"])

    def record(self, number: int) -> None:
        found = record(json.dumps({"version": 1, "hash": str(number), "state": "Running", "steps": []}))
        (handler,) = self.config_maps.handlers
        handler(Change(("kube-system", "nestor-run"), None, found))

    def add_pod(self) -> None:
        self.pods.objects.append(build_pod())
        (handler,) = self.pods.handlers
        handler(Change(("shop", "web"), None, self.pods.objects[-1]))

    async def until(self, check: Callable[[dict[str, Any]], bool]) -> None:
        await comes_true(lambda: self.applied and check(self.applied[-1]), limit=20)


@contextlib.asynccontextmanager
async def working(written: Written) -> AsyncIterator[None]:
    task = asyncio.create_task(written.status.queue.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_the_status_is_written_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STATUS_WRITES", Rate(per_second=10, burst=3))
    written = Written()
    async with working(written):
        for number in range(101):
            written.record(number)
            written.status.set_ready(ready=number % 2 == 0, message=str(number))
            await asyncio.sleep(0.001)
        await written.until(lambda status: bool(status["conditions"][0]["message"] == status["run"]["hash"] == "100"))
    assert len(written.applied) < 30


async def test_the_number_of_pods_is_written_now_and_then_and_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COUNT_WRITES", Rate(per_second=0.001, burst=2))
    monkeypatch.setattr(cluster_status, "_COUNT_DELAY", 0.001)
    written = Written()
    async with working(written):
        written.status.set_ready(ready=False, message="")
        await written.until(lambda status: bool(status["pods"]["waiting"] == 0))
        written.add_pod()
        await written.until(lambda status: bool(status["pods"]["waiting"] == 1))
        written.add_pod()
        await written.until(lambda status: bool(status["pods"]["waiting"] == 2))
        for _ in range(50):
            written.add_pod()
            await asyncio.sleep(0.001)
        assert written.applied[-1]["pods"]["waiting"] == 2
        written.status.set_ready(ready=True, message="")
        await written.until(lambda status: bool(status["pods"]["waiting"] == 52))
    assert [item["pods"]["waiting"] for item in written.applied] == [0, 1, 2, 52]


async def test_the_last_number_of_pods_is_written_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COUNT_WRITES", Rate(per_second=2, burst=1))
    monkeypatch.setattr(cluster_status, "_COUNT_DELAY", 0.001)
    written = Written()
    async with working(written):
        written.status.set_ready(ready=True, message="")
        for _ in range(50):
            written.add_pod()
            await asyncio.sleep(0.001)
        await written.until(lambda status: bool(status["pods"]["waiting"] == 50))
    assert len(written.applied) < 25


async def test_a_record_that_the_host_refuses_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Written()
    apply = written.apply

    async def refuse(kind: Any, body: dict[str, Any], *, subresource: str) -> None:
        if "run" in body["status"]:
            raise Invalid(422, "Invalid", "status.run.steps: too many")
        await apply(kind, body, subresource=subresource)

    monkeypatch.setattr(written, "apply", refuse)
    async with working(written):
        written.record(1)
        written.status.set_ready(ready=True, message="it works")
        await written.until(lambda status: bool(status["conditions"][0]["status"] == "True"))


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
    written = Written()
    written.caches.is_suspended, written.is_creating = is_suspended, is_creating
    written.host_pods.objects = [build_host_pod(status={"phase": phase}) for phase in phases]
    async with working(written):
        written.status.set_ready(ready=True, message="")
        await written.until(lambda status: status["suspended"] is is_complete)
        written.is_creating = False
        await written.until(lambda status: status["suspended"] is (is_complete or is_creating))
