"""A node's status and Lease: the Lease is renewed only while the backend answers."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from nestor.api.objects import Object, spec_of
from nestor.kube import Api, Invalid, kinds
from nestor.overflow.vnode.backend import health
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.node import keeper
from nestor.overflow.vnode.node.keeper import FULL_SECONDS, LEASE_NAMESPACE, NodeKeeper
from nestor.overflow.vnode.node.status import FULL, NodeFacts
from nestor.pods.providers.errors import Unauthorized, Unreachable
from tests.unit.overflow.vnode.world import NODE, NodeApi
from tests.waiting import comes_true


class Scene:
    """One Node, its keeper, and what the backend is like."""

    task: asyncio.Task[None]

    def __init__(self) -> None:
        self.now = 0.0
        self.api = NodeApi()
        self.api.put(kinds.NODE, {"metadata": {"name": NODE}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
        self.health = Health(lambda: self.now)
        self.capacity = {"cpu": "8", "pods": "100"}
        self.pods = 7
        self.keeper = NodeKeeper(cast(Api, self.api), NODE, self.health, self._facts, lambda: self.pods, lambda: self.now)

    def _facts(self) -> NodeFacts:
        return NodeFacts(self.capacity, "10.0.0.7", 10250, "v1.35.0")

    @property
    def status(self) -> Object:
        found: Object = (self.api.look(kinds.NODE, NODE) or {}).get("status") or {}
        return found

    @property
    def ready(self) -> tuple[str, str]:
        return self.condition("Ready")

    def condition(self, kind: str) -> tuple[str, str]:
        found: Object = next((item for item in self.status.get("conditions", []) if item["type"] == kind), {})
        return found.get("status", ""), found.get("reason", "")

    @property
    def renewed(self) -> str:
        lease = self.api.look(kinds.LEASE, NODE, LEASE_NAMESPACE)
        return str(spec_of(lease).get("renewTime", ""))


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr(keeper, "RENEW_SECONDS", 0.02)
    made = Scene()
    made.task = asyncio.create_task(made.keeper.run())
    tasks = [asyncio.create_task(made.keeper.informer.run()), made.task]
    yield made
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_node_has_no_lease_before_the_backend_answers(scene: Scene) -> None:
    await comes_true(lambda: scene.ready == ("Unknown", "BackendUnreachable"))
    assert scene.renewed == ""
    scene.health.note_answer()
    await comes_true(lambda: scene.ready == ("True", "BackendAnswers"))
    await comes_true(lambda: scene.renewed)
    lease = scene.api.look(kinds.LEASE, NODE, LEASE_NAMESPACE) or {}
    assert lease["spec"]["holderIdentity"] == NODE
    assert lease["metadata"]["ownerReferences"][0]["name"] == NODE


@pytest.mark.parametrize(
    ("error", "reason"), [(Unreachable("refused"), "BackendUnreachable"), (Unauthorized("expired"), "BackendUnauthorized")]
)
async def test_a_backend_that_goes_away_ends_the_lease(scene: Scene, error: Exception, reason: str) -> None:
    scene.health.note_answer()
    await comes_true(lambda: scene.renewed)
    scene.now += health.GRACE_SECONDS - 1
    scene.health.note_failure(error)
    first = scene.renewed
    await comes_true(lambda: scene.renewed != first)
    assert scene.ready == ("True", "BackendAnswers")
    scene.now += 2
    scene.health.note_failure(error)
    await comes_true(lambda: scene.ready == ("Unknown", reason))
    last = scene.renewed
    seen = len(scene.api.asked)
    scene.keeper.note_full(1)
    await comes_true(lambda: len(scene.api.asked) > seen)
    assert scene.renewed == last
    scene.health.note_answer()
    await comes_true(lambda: scene.renewed != last)


async def test_a_status_that_is_not_accepted_does_not_end_the_lease(scene: Scene) -> None:
    """A backend may tell what no API server takes; without the Lease, all of its pods would be sent away."""
    await comes_true(lambda: scene.status)
    scene.api.refusal = lambda verb, body: Invalid(422, "Invalid", "no") if "status" in body else None
    scene.capacity = {"cpu": "9"}
    scene.keeper.look()
    scene.health.note_answer()
    await comes_true(lambda: scene.renewed)
    first = scene.renewed
    await comes_true(lambda: scene.renewed != first)
    assert scene.status["capacity"]["cpu"] == "8"


async def test_a_node_that_is_made_again_gets_its_status_again(scene: Scene) -> None:
    scene.health.note_answer()
    await comes_true(lambda: scene.ready[0] == "True")
    scene.api.drop(kinds.NODE, NODE)
    scene.api.put(kinds.NODE, {"metadata": {"name": NODE}})
    await comes_true(lambda: scene.ready[0] == "True")


async def test_a_node_whose_backend_holds_pods_back_is_full_for_a_while(scene: Scene) -> None:
    scene.health.note_answer()
    await comes_true(lambda: scene.status.get("allocatable", {}).get("pods") == "100")
    scene.keeper.note_full(60)
    await comes_true(lambda: scene.status["allocatable"]["pods"] == "7")
    assert (scene.condition(FULL), scene.status["capacity"]["pods"]) == (("True", "PodsHeldBack"), "100")
    scene.pods = 6
    await comes_true(lambda: scene.status["allocatable"]["pods"] == "6")
    scene.now += 60
    scene.health.note_answer()
    await comes_true(lambda: scene.status["allocatable"]["pods"] == "100")


@pytest.mark.parametrize("waited", [1.0, 300.0, 9000.0])
async def test_a_node_is_closed_for_half_of_the_time_at_most(scene: Scene, waited: float) -> None:
    """Whatever pods are taken back, and how often: one tenant's must not keep all others away."""
    closed = 0
    for _ in range(5000):
        scene.keeper.note_full(waited)
        closed += scene.keeper.is_full
        scene.now += 1
    assert 2000 < closed <= 2500 + FULL_SECONDS[1]


async def test_discovered_capacity_follows(scene: Scene) -> None:
    scene.health.note_answer()
    await comes_true(lambda: scene.status.get("capacity") == scene.capacity)
    scene.capacity = {"nvidia.com/gpu": "1", "pods": "5"}
    scene.keeper.look()
    await comes_true(lambda: scene.status["capacity"] == {"nvidia.com/gpu": "1", "pods": "5"})


async def test_labels_and_taints_are_left_alone(scene: Scene) -> None:
    scene.health.note_answer()
    await comes_true(lambda: scene.ready[0] == "True")
    assert (scene.api.look(kinds.NODE, NODE) or {})["spec"] == {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    assert all(item.endswith("/status") for item in scene.api.asked if item.startswith("PATCH nodes"))
