"""Gangs as a syncer has them: held, let go, taken back; and one that gives way to another."""

from types import SimpleNamespace
from typing import Any

import pytest

from nestor.api import labels, times
from nestor.api.objects import Object, annotations_of, conditions_of, labels_of
from nestor.kube import NotFound, kinds
from nestor.syncer.pods import gangs
from nestor.syncer.pods.gangs import TURN_SECONDS
from tests.unit.pods.translate.builders import build_pod
from tests.unit.syncer.pods.scene import Scene


class Cluster(Scene):
    def __init__(self) -> None:
        super().__init__()
        self._gangs: list[Object] = []
        self._rules: Object = {}

    def allow(self, **gang: Any) -> None:
        self._rules = {"gang": gang, "overflow": {"backends": [{"name": "hpc"}]}}
        self._write()

    def decide(self, **entry: Any) -> None:
        """Write what the operator decided about the only gang there is."""
        (name,) = {labels_of(pod)[labels.GANG] for pod in self.host_pods()}
        self._gangs = [{"name": name, **entry}]
        self._write()

    def _write(self) -> None:
        self.write_rules(self._rules, gangs=self._gangs)

    def start(self, gang: str, count: int, size: int = 3, first: int = 0) -> None:
        for number in range(first, first + count):
            pod = build_pod()
            notes = {"nestor.dev/gang": gang, "nestor.dev/gang-size": str(size)}
            meta = {"name": f"{gang}-{number}", "uid": f"uid-{gang}-{number}", "annotations": notes}
            pod["metadata"] |= meta | {"creationTimestamp": "2020-01-01T00:00:00Z"}
            self.nested.put(kinds.POD, pod)

    def held(self) -> int:
        return sum("schedulingGates" in pod["spec"] and bool(pod["spec"]["schedulingGates"]) for pod in self.host_pods())

    def why(self, name: str) -> tuple[str, str]:
        """Reason and message of a nested pod's condition."""
        pod = self.nested.look(kinds.POD, name, "shop")
        found = next((item for item in conditions_of(pod) if item["type"] == "PodScheduled"), {})
        return found.get("reason", ""), found.get("message", "")

    def gate(self) -> None:
        """Play the host's API server, which says of each held pod that it is."""
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked"}
        for pod in self.host_pods():
            self.api.put(kinds.POD, pod | {"status": {"phase": "Pending", "conditions": [gated]}})

    def bind(self, name: str) -> None:
        """Play the host's scheduler and kubelet."""
        pod = next(item for item in self.host_pods() if annotations_of(item)[labels.NESTED_NAME] == name)
        self.api.put(kinds.POD, pod | {"spec": pod["spec"] | {"nodeName": "link"}, "status": {"phase": "Running"}})

    def names(self) -> set[str]:
        return {annotations_of(pod)[labels.NESTED_NAME] for pod in self.host_pods()}


RELEASED: Object = {
    "state": "Released",
    "round": 2,
    "place": "hpc",
    "nodes": [{"key": "nestor.dev/backend", "operator": "In", "values": ["hpc"]}],
    "message": "backend 'hpc' has room",
}


async def test_they_are_let_go_together_to_the_place_that_was_decided() -> None:
    scene = Cluster()
    scene.allow()
    async with scene.running():
        scene.start("train", 3)
        await scene.until(lambda: scene.held() == 3)
        scene.decide(**RELEASED)
        await scene.until(lambda: scene.held() == 0)
        for pod in scene.host_pods():
            assert annotations_of(pod)[labels.GANG_ROUND] == "2"
            assert annotations_of(pod)[labels.PLACE_REASON] == "backend 'hpc' has room"
            required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert all(term["matchExpressions"][-1]["values"] == ["hpc"] for term in required["nodeSelectorTerms"])
        # One that comes later follows at once.
        scene.start("train", 4)
        await scene.until(lambda: len(scene.host_pods()) == 4 and scene.held() == 0)


async def test_a_gang_that_waits_long_is_warned_about_once() -> None:
    scene = Cluster()
    scene.allow()
    async with scene.running():
        scene.start("train", 1)
        await scene.until(lambda: scene.held() == 1)
        scene.gate()
        await scene.until(lambda: len(scene.events("GangWaiting")) == 1)
        scene.decide(state="Waiting", message="no room")
        await scene.until(lambda: scene.why("train-0")[1] == "no room")
        await scene.calm()
        (event,) = scene.events("GangWaiting")
        assert event["type"] == "Warning"
        assert event["message"].startswith("has waited for 300 s: ")


async def test_a_young_gang_waits_without_a_warning() -> None:
    scene = Cluster()
    scene.allow()
    # The pods themselves are old: their cluster may have been suspended.
    scene.host.created = times.timestamp()
    async with scene.running():
        scene.start("train", 3)
        await scene.until(lambda: scene.held() == 3)
        await scene.calm()
        assert scene.held() == 3
        assert not scene.events("GangWaiting")


async def test_of_two_gangs_that_fill_a_quota_the_one_that_was_refused_first_gets_all_it_needs() -> None:
    scene = Cluster()
    scene.allow()
    scene.host.limit = 4
    async with scene.running():
        for gang in ("a", "b"):
            scene.start(gang, 2)
        await scene.until(lambda: len(scene.host_pods()) == 4)
        scene.start("a", 1, first=2)
        await scene.until(lambda: scene.host.refused > 0)
        # This one does not even ask: the other gang's asks for all of its size.
        scene.start("b", 1, first=2)
        await scene.until(lambda: scene.names() >= {"a-0", "a-1", "a-2"})
        await scene.calm()
        assert scene.names() >= {"a-0", "a-1", "a-2"}
        scene.host.limit = 6
        scene.creator.room.reopen()
        await scene.until(lambda: len(scene.names()) == 6)


async def test_a_gang_that_is_too_large_for_a_quota_lets_the_next_one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(gangs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    scene = Cluster()
    scene.allow()
    scene.host.limit = 4
    async with scene.running():
        scene.start("huge", 5, size=5)
        await scene.until(lambda: len(scene.host_pods()) == 4 and scene.host.refused > 0)
        now[0] += 10 * TURN_SECONDS  # alone, it has no turn that could end
        scene.start("small", 3)
        await scene.until(lambda: len(scene.events("PodRefused")) == 4)
        now[0] += TURN_SECONDS - 1
        scene.controller.creations.add("uid-small-0")
        await scene.calm()
        assert scene.names() == {f"huge-{number}" for number in range(4)}
        now[0] += 1
        scene.controller.creations.add("uid-small-0")
        await scene.until(lambda: scene.names() >= {"small-0", "small-1", "small-2"})
        # Once it is gone, it has no turn.
        for number in range(5):
            scene.nested.drop(kinds.POD, f"huge-{number}", "shop")
        scene.start("late", 3)
        await scene.until(lambda: len(scene.events("PodRefused")) >= 6)
        await scene.calm()
        scene.host.limit = 6
        for number in range(3):
            scene.controller.creations.add(f"uid-late-{number}")
        scene.creator.room.reopen()
        await scene.until(lambda: scene.names() >= {"late-0", "late-1", "late-2"})


async def test_what_says_its_size_must_be_there() -> None:
    scene = Cluster()
    scene.allow()
    async with scene.running():
        pod = build_pod(schedulingGroup={"podGroupName": "train"})
        pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        scene.nested.put(kinds.POD, pod)
        await scene.until(lambda: scene.why("web")[0] == "PodRefused")
        assert scene.why("web")[1] == (
            "the pod has to wait: PodGroup 'train', which says how many pods its gang has, does not exist"
        )


async def test_the_group_of_the_host_s_scheduler_is_there_before_its_pods_and_goes_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gangs, "COMING_SECONDS", 0.0)
    scene = Cluster()
    scene.allow(scheduler="Kubernetes")

    def groups() -> list[Object]:
        return scene.api.every("podgroups")

    async with scene.running():
        scene.start("train", 3)
        await scene.until(lambda: len(scene.host_pods()) == 3)
        assert scene.held() == 0
        assert len([item for item in scene.api.asked if "podgroups" in item]) == 1, "one request for a gang"
        (group,) = groups()
        assert group["apiVersion"] == "scheduling.k8s.io/v1beta1"
        assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in scene.host_pods()} == {group["metadata"]["name"]}
        for number in range(3):
            assert groups()
            scene.nested.drop(kinds.POD, f"train-{number}", "shop")
            await scene.until(lambda left=2 - number: len(scene.host_pods()) == left)  # type: ignore[misc]
        await scene.until(lambda: not groups())


async def test_a_host_that_knows_no_groups_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> Object:
        raise NotFound(404, "NotFound", "the server could not find the requested resource")

    scene = Cluster()
    scene.allow(scheduler="Kubernetes")
    monkeypatch.setattr(scene.api, "create", refuse)
    async with scene.running():
        scene.start("train", 1)
        await scene.until(lambda: "the host cluster knows no PodGroups" in scene.why("train-0")[1])
        assert not scene.host_pods()
