"""A backend's process, nodes and status, before an API server in memory."""

import datetime
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.api.times import now, write
from nestor.kube import ApiError, Forbidden, Invalid, kinds
from nestor.operator.backends.decide import END_SECONDS, SETTLE_SECONDS
from nestor.operator.backends.reconcile import BackendReconciler
from nestor.operator.world.ownership import NAMED
from tests.unit.operator.backends.builders import ANSWERS, GPU, SHAPE, build_backend, build_live, build_pod, build_process, tell
from tests.unit.operator.scene import Scene


class Stage:
    """A scene with one backend."""

    def __init__(self, *, process: bool = True, **backend: Any) -> None:
        self.scene = Scene()
        self.api = self.scene.api
        self.backends = BackendReconciler(self.scene.context)
        self.set(**backend)
        if process:
            self.scene.show(kinds.POD, build_process())

    def set(self, *, deleted: bool = False, **backend: Any) -> Object:
        """Have the backend like this."""
        body = build_backend(**backend)
        if deleted:
            body["metadata"]["deletionTimestamp"] = write(now())
        return self.scene.change(kinds.OVERFLOW_BACKEND, body)

    async def run(self, name: str = "link") -> float | None:
        """One pass, after the informer has heard of all nodes. Returns when to look again."""
        self.api.asked.clear()
        informer = self.scene.context.cache.informers[kinds.NODE]
        informer.store.clear()
        for node in self.all(kinds.NODE):
            if labels.BACKEND in node["metadata"].get("labels", {}):
                informer.store["", node["metadata"]["name"]] = node
        result = await self.backends.reconcile(name)
        assert result.error is None
        return result.retry_after

    def all(self, kind: Any) -> list[Object]:
        return [item for key, item in self.api.objects.items() if key[0] == kind.plural]

    def names(self) -> list[str]:
        return sorted(node["metadata"]["name"] for node in self.all(kinds.NODE))

    def age(self, node: str, seconds: float) -> None:
        """Have the node's removal begun so long ago."""
        found = self.scene.look(kinds.NODE, node, "")
        found["metadata"]["annotations"][labels.REMOVED_SINCE] = write(now() - datetime.timedelta(seconds=seconds))
        self.api.put(kinds.NODE, found)

    @property
    def backend(self) -> Object:
        return self.scene.look(kinds.OVERFLOW_BACKEND, "link", "")

    @property
    def finalizers(self) -> list[str]:
        return list(self.backend["metadata"]["finalizers"])

    @property
    def status(self) -> Object:
        return dict(self.backend.get("status", {}))

    @property
    def ready(self) -> tuple[str, str]:
        found = conditions.find(self.status["conditions"], "Ready") or {}
        return found["reason"], found["message"]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(item["reason"], item["message"]) for item in self.all(kinds.EVENT)]


async def test_a_new_backend_gets_its_process_and_waits_for_its_report() -> None:
    stage = Stage(process=False)
    await stage.run()
    made = {kind.name for kind in vars(kinds).values() if isinstance(kind, type(kinds.POD)) and stage.all(kind)}
    accounts = {"ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding"}
    assert made == {"OverflowBackend", "NetworkPolicy", "Deployment"} | accounts
    assert stage.ready == ("NotDeployed", "no pod of Deployment 'vnode-link' is ready")
    assert (stage.status["nodes"], stage.status["readyNodes"], stage.status["observedGeneration"]) == ([], "0/0", 1)


async def test_it_gets_our_finalizer_first() -> None:
    stage = Stage()
    backend = build_backend()
    backend["metadata"]["finalizers"] = ["else"]
    stage.scene.change(kinds.OVERFLOW_BACKEND, backend)
    await stage.run()
    assert stage.api.asked[0] == "PATCH overflowbackends link"
    assert stage.finalizers == ["else", labels.FINALIZER]


async def test_each_reported_shape_becomes_a_node_and_the_backend_ready() -> None:
    stage = Stage(status=tell(SHAPE, GPU))
    await stage.run()
    assert stage.names() == ["link", "link-gpu"]
    assert stage.ready[0] == "NodesNotReady"
    for name in stage.names():
        node = stage.scene.look(kinds.NODE, name, "")
        stage.api.put(kinds.NODE, node | {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert await stage.run() == 600
    assert stage.ready == ("NodesReady", "2/2 nodes take pods")
    assert stage.status["nodes"] == [
        {"name": "link", "shape": "default", "state": "Ready"},
        {"name": "link-gpu", "shape": "gpu", "state": "Ready"},
    ]
    assert stage.events == [("BackendReady", "2/2 nodes take pods")]
    await stage.run()
    assert stage.api.asked == []


async def test_a_real_node_is_never_adopted_nor_changed() -> None:
    stage = Stage(status=tell(SHAPE))
    real = {"metadata": {"name": "link", "labels": {"kubernetes.io/hostname": "link"}}, "spec": {}, "status": {}}
    before = stage.api.put(kinds.NODE, real)
    for _ in range(2):
        assert await stage.run() == 30
    assert stage.api.look(kinds.NODE, "link") == before
    assert stage.ready == ("NodeConflict", "there is already a node 'link', which belongs to the cluster itself")
    assert stage.status["nodes"] == [{"name": "link", "shape": "default", "state": "Refused"}]
    assert [reason for reason, _ in stage.events] == ["NodeConflict"]
    assert not [item for item in stage.api.asked if item.startswith(("PATCH nodes", "DELETE nodes"))]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (build_backend("other", uid="o"), "belongs to backend 'other'"),
        (build_backend(uid="earlier"), "that of an earlier backend of this name, which is being deleted"),
    ],
)
async def test_a_node_of_another_backend_is_left_alone(other: Object, said: str) -> None:
    stage = Stage(status=tell(SHAPE))
    node = build_live(other)
    node["metadata"]["name"] = "link"
    before = stage.api.put(kinds.NODE, node)
    await stage.run()
    assert stage.api.look(kinds.NODE, "link") == before
    assert said in stage.ready[1]


async def test_a_node_that_the_api_server_refuses_is_told() -> None:
    stage = Stage(status=tell(SHAPE))
    stage.api.refusal = lambda verb, body: Invalid(422, "Invalid", "bad label") if body.get("kind") == "Node" else None
    await stage.run()
    assert stage.ready == ("NodeConflict", "node 'link': bad label")


async def have_leaving(pods: int = 2, **backend: Any) -> Stage:
    """A backend whose shape `gpu` is gone, with pods on its node."""
    stage = Stage(status=tell(SHAPE, GPU))
    await stage.run()
    for number in range(pods):
        stage.api.put(kinds.POD, build_pod(f"p{number}", "link-gpu"))
    stage.api.put(kinds.POD, build_pod("other", "link"))
    stage.set(status=tell(SHAPE), **backend)
    return stage


async def test_a_shape_that_is_gone_is_first_closed_then_emptied_then_removed() -> None:
    stage = await have_leaving()
    assert await stage.run() == 5
    node = stage.scene.look(kinds.NODE, "link-gpu", "")
    assert node["spec"]["unschedulable"] is True
    assert await stage.run() == pytest.approx(SETTLE_SECONDS, abs=2)
    assert not [item for item in stage.api.asked if "eviction" in item]
    (gone,) = [item for item in stage.status["nodes"] if item["name"] == "link-gpu"]
    assert gone["state"] == "Draining"
    assert "drainTime" in gone
    stage.age("link-gpu", SETTLE_SECONDS)
    assert await stage.run() == 5
    assert sorted(item for item in stage.api.asked if "eviction" in item) == [
        "POST pods team-a/p0/eviction",
        "POST pods team-a/p1/eviction",
    ]
    await stage.run()
    assert stage.names() == ["link"]
    assert [pod["metadata"]["name"] for pod in stage.all(kinds.POD)] == ["vnode-link-x", "other"]
    assert "PodsLeftBehind" not in dict(stage.events)


async def test_a_shape_that_comes_back_keeps_its_pods() -> None:
    stage = await have_leaving()
    await stage.run()
    stage.set(status=tell(SHAPE, GPU))
    await stage.run()
    node = stage.scene.look(kinds.NODE, "link-gpu", "")
    assert not node["spec"].get("unschedulable")
    assert labels.REMOVED_SINCE not in node["metadata"]["annotations"]
    assert len(stage.all(kinds.POD)) == 4


@pytest.mark.parametrize("said", [ANSWERS | {"status": "False", "reason": "Unreachable"}, None])
async def test_what_an_unreachable_backend_does_not_tell_is_not_gone(said: Object | None) -> None:
    stage = await have_leaving()
    for shapes in ([], [SHAPE], None):
        status: Object = {"conditions": [said] if said else []} | ({"shapes": shapes} if shapes is not None else {})
        stage.set(status=status)
        await stage.run()
        assert stage.names() == ["link", "link-gpu"]
        assert not [item for item in stage.api.asked if item.startswith("PATCH nodes")]


async def test_a_pod_that_does_not_go_holds_its_node_no_longer_than_the_limit() -> None:
    stage = await have_leaving(drainSeconds=100)
    blocked = ApiError(429, "TooManyRequests", "disruption budget")
    stage.api.refusal = lambda verb, body: blocked if (body or {}).get("kind") == "Eviction" else None
    await stage.run()
    stage.age("link-gpu", 90)
    assert await stage.run() == 5
    assert len([item for item in stage.api.asked if "eviction" in item]) == 2
    stage.age("link-gpu", 100 + END_SECONDS)
    await stage.run()
    assert stage.names() == ["link"]
    (said,) = [message for reason, message in stage.events if reason == "PodsLeftBehind"]
    assert "team-a/p0 (uid-of-p0), team-a/p1 (uid-of-p1)" in said


async def test_pods_left_behind_are_named_before_they_go_however_many_there_are() -> None:
    """An operator that ends in between finds none of them any more."""
    count = 5 * NAMED + 1
    stage = await have_leaving(pods=count, drainSeconds=0)
    await stage.run()
    stage.age("link-gpu", END_SECONDS)
    await stage.run()
    said = [message for reason, message in stage.events if reason == "PodsLeftBehind"]
    assert all(f"(uid-of-p{number})" in "".join(said) for number in range(count))
    assert max(map(len, said)) < 1000 - NAMED * 2 * 63, "whatever names they have, it fits into an event"
    asked = [line.partition(" ")[0] + line.split(" ")[1] for line in stage.api.asked]
    assert max(index for index, line in enumerate(asked) if line == "POSTevents") < asked.index("DELETEpods")
    assert [pod["metadata"]["name"] for pod in stage.all(kinds.POD)] == ["vnode-link-x", "other"]


async def test_a_backend_that_is_deleted_empties_its_nodes_while_its_process_is_there() -> None:
    stage = await have_leaving()
    stage.set(deleted=True, status=tell(SHAPE))
    assert await stage.run() == 5
    assert stage.ready[0] == "Terminating"
    for name in stage.names():
        stage.age(name, 0)
    await stage.run()
    assert len([item for item in stage.api.asked if "eviction" in item]) == 3
    await stage.run()
    assert stage.names() == []
    assert stage.all(kinds.DEPLOYMENT)
    assert stage.finalizers == [labels.FINALIZER]
    await stage.run()
    assert stage.finalizers == []
    gone = stage.backend
    stage.set(deleted=True)
    stage.scene.context.cache.backends.put(gone)
    assert await stage.run() is None


async def test_a_spec_that_cannot_be_read_still_lets_the_backend_go() -> None:
    stage = Stage()
    stage.set(type="Carrier-Pigeon")
    assert await stage.run() == 600
    assert stage.ready[0] == "BackendInvalid"
    assert "spec.type" in stage.ready[1]
    stage.set(type="Carrier-Pigeon", deleted=True)
    await stage.run()
    assert stage.finalizers == []


async def test_a_process_that_is_refused_is_told_and_tried_again() -> None:
    stage = Stage()
    error = Forbidden(403, "Forbidden", "no Deployments here")
    stage.api.refusal = lambda verb, body: error if "template" in (body or {}).get("spec", {}) else None
    result = await stage.backends.reconcile("link")
    assert result.error is error
    assert stage.ready == ("NotDeployed", "no Deployments here")


async def test_shapes_that_cannot_be_read_change_nothing() -> None:
    stage = await have_leaving()
    stage.set(status=tell({"name": "Not a name", "capacity": {}}))
    await stage.run()
    assert stage.names() == ["link", "link-gpu"]


async def test_of_shapes_in_the_spec_one_is_gone_when_an_admin_says_so() -> None:
    """Whether the backend answers or not."""
    stage = Stage(shapes=[SHAPE, GPU])
    await stage.run()
    stage.set(shapes=[SHAPE], status={"conditions": [ANSWERS | {"status": "False", "reason": "Unreachable"}]}, drainSeconds=0)
    await stage.run()
    stage.age("link-gpu", 0)
    await stage.run()
    assert stage.names() == ["link"]


async def test_a_node_that_is_another_one_by_now_is_not_deleted() -> None:
    stage = await have_leaving(pods=0)
    await stage.run()
    stage.age("link-gpu", SETTLE_SECONDS)
    (known,) = [node for node in stage.all(kinds.NODE) if node["metadata"]["name"] == "link-gpu"]
    stage.api.drop(kinds.NODE, "link-gpu")
    stage.api.put(kinds.NODE, {"metadata": {"name": "link-gpu"}})
    informer = stage.scene.context.cache.informers[kinds.NODE]
    informer.store["", "link-gpu"] = known
    await stage.backends.reconcile("link")
    assert stage.names() == ["link", "link-gpu"]


async def test_one_reason_is_one_event_whatever_its_words() -> None:
    stage = Stage()
    for message in ("connection refused", "no route to host"):
        before = [item for item in stage.status.get("conditions", []) if item["type"] == "Ready"]
        told = tell(SHAPE, status="False", reason="Unreachable", message=message)
        stage.set(status=told | {"conditions": [*told["conditions"], *before]})
        await stage.run()
        assert stage.ready == ("Unreachable", message)
    assert stage.events == [("Unreachable", "connection refused")]
