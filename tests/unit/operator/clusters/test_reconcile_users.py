"""Clusters that users made: what may not depend on how the rest of a pass ends."""

from __future__ import annotations

import contextlib
import datetime
import json
from typing import Any

import pytest

from nestor import names
from nestor.api import labels
from nestor.api.class_network import NetworkPolicyModel
from nestor.cluster.policies import build_internet
from nestor.cluster.provision import ForeignObject
from nestor.kube import ApiError, Forbidden, Invalid, Kind, RetryLater, kinds
from nestor.names import Part
from nestor.operator.admission.identity import Refused
from nestor.operator.clusters import reconcile as module
from nestor.operator.clusters.reconcile import ClusterReconciler
from nestor.operator.lifecycle import suspend
from nestor.operator.wiring import Operator
from nestor.operator.world.kept import find_fault
from nestor.operator.world.trim import TRIMS
from nestor.times import now, write
from tests.unit.operator.builders import Object, build_policy
from tests.unit.operator.scene import Scene

FORGED = {"policy": {"podSecurity": "Privileged", "later": "x"}}
LABELS, HOME = labels.of_job("hello", "team-a", "1234"), names.job_namespace("hello", "team-a", "1234")


async def reconcile(scene: Scene, name: str = "own") -> None:
    """A pass, however it ends."""
    with contextlib.suppress(Exception):
        await ClusterReconciler(scene.context).reconcile("team-a", name)


async def test_it_is_held_to_baseline_in_its_users_namespace_whatever_its_class_says() -> None:
    scene = Scene()
    scene.add_cluster()
    await reconcile(scene)
    assert scene.level("own", "team-a") == "Baseline"


@pytest.mark.parametrize("error", [RetryLater(1, "not yet"), ApiError(500, "InternalError", "broken"), RuntimeError("a mistake")])
async def test_a_policy_of_others_is_written_over_whatever_else_fails(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    made = scene.add_cluster()
    said = [{"type": "Admitted", "status": "True", "reason": "x", "message": ""}]
    scene.change(kinds.NESTED_CLUSTER, made | {"status": FORGED | {"conditions": said}})

    async def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(module, "ensure_cluster", fail)
    await reconcile(scene)
    found = scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {}
    internet = [item["ipBlock"] for item in build_internet(NetworkPolicyModel(), scene.context.host)]
    wanted = {"podSecurity": "Baseline", "alwaysPullImages": False, "internet": internet}
    assert found["status"] == {"policy": wanted, "conditions": said}


@pytest.mark.parametrize(("age", "is_refused"), [(1, False), (60, True)])
async def test_a_policy_that_has_not_seen_it_yet_is_asked_again_and_not_for_ever(
    age: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene()
    made = scene.add_cluster()
    made["metadata"]["creationTimestamp"] = write(now() - datetime.timedelta(seconds=age))
    scene.change(kinds.NESTED_CLUSTER, made)

    async def fail(*_: Any) -> None:
        raise Invalid(422, "Invalid", "denied request: failed to configure binding: no params found for policy binding")

    monkeypatch.setattr(module, "ensure_cluster", fail)
    await reconcile(scene)
    found = scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {}
    assert bool((found.get("status") or {}).get("conditions")) is is_refused


@pytest.mark.parametrize(
    ("own", "where", "is_users"),
    [
        ({labels.JOB: "hello"}, "team-a", True),
        (LABELS, "team-a", True),
        (LABELS, HOME, False),
        (LABELS, names.job_namespace("hello", "team-a", "5678"), True),
    ],
)
async def test_a_cluster_is_a_jobs_by_its_namespace_never_by_a_label(own: Object, where: str, is_users: bool) -> None:
    scene = Scene()
    made = scene.add_cluster(own=own)
    made["metadata"]["namespace"] = where
    scene.change(kinds.NESTED_CLUSTER, made | {"status": FORGED})
    await ClusterReconciler(scene.context).reconcile(where, "own")
    assert scene.level("own", where) == ("Baseline" if is_users else "Privileged")


@pytest.mark.parametrize(("where", "queued"), [("team-a", {("NestedCluster", "own")}), (HOME, {("NestedAppJob", "hello")})])
async def test_one_that_claims_to_be_a_jobs_is_looked_at_all_the_same(
    where: str, queued: set[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Operator(Scene().context)
    meta = {"name": "own", "namespace": where, "uid": "u", "labels": LABELS}
    _, hear = operator.feeds()[kinds.NESTED_CLUSTER]
    seen: list[Any] = []
    monkeypatch.setattr(operator.queue, "add", seen.append)
    hear({"kind": "NestedCluster", "metadata": meta})
    assert {(key.kind, key.name) for key in seen} == queued


CLAIMED = LABELS | {labels.MANAGED_BY: "nestor", labels.CLUSTER: "own"}


@pytest.mark.parametrize(
    ("kind", "where", "own", "marks", "queued"),
    [
        (kinds.SERVICE, "team-a", CLAIMED, {}, [("NestedCluster", "team-a", "own")]),
        (kinds.SERVICE, "team-a", {labels.CLUSTER: "own"}, LABELS, [("NestedCluster", "team-a", "own")]),
        (kinds.SERVICE, "team-a", LABELS, {}, []),
        (kinds.SERVICE, HOME, CLAIMED, {}, [("NestedAppJob", "team-a", "hello")]),
        (kinds.POD, HOME, {labels.CLUSTER: "hello"}, LABELS, [("NestedAppJob", "team-a", "hello")]),
        (kinds.POD, HOME, labels.of_job("other", "team-b", "5"), LABELS, [("NestedAppJob", "team-a", "hello")]),
    ],
)
async def test_no_label_wakes_a_job_in_whose_namespace_the_object_is_not(
    kind: Kind, where: str, own: Object, marks: Object, queued: list[tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene()
    operator = Operator(scene.context)
    scene.show(kinds.NAMESPACE, {"metadata": {"name": where, "labels": marks}})
    seen: list[Any] = []
    monkeypatch.setattr(operator.queue, "add", seen.append)
    scene.show(kind, {"metadata": {"name": "x", "namespace": where, "labels": own}})
    assert [(key.kind, key.namespace, key.name) for key in seen] == queued


@pytest.mark.parametrize(("where", "queued"), [(HOME, [("NestedAppJob", "team-a", "hello")]), ("team-c", [])])
async def test_a_namespace_wakes_the_job_that_it_is_named_for(
    where: str, queued: list[tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene()
    operator = Operator(scene.context)
    seen: list[Any] = []
    monkeypatch.setattr(operator.queue, "add", seen.append)
    scene.show(kinds.NAMESPACE, {"metadata": {"name": where, "labels": LABELS}})
    assert [(key.kind, key.namespace, key.name) for key in seen] == queued


RESTRICTED: Object = {"network": {"internet": "None"}}
LARGE_STEPS = [{"name": f"s{number}", "state": "Failed", "message": "x" * 32_000} for number in range(3)]
LARGE_TARGET = {"kind": "Job", "matchLabels": {f"k{number}": "x" * 60 for number in range(9000)}}


def restrict(scene: Scene) -> None:
    """Have a class without internet, too."""
    body = build_policy(**RESTRICTED).model_dump(by_alias=True, exclude_none=True)
    scene.context.cache.classes.put({"metadata": {"name": "restricted", "uid": "r", "resourceVersion": "9"}, "spec": body})


async def test_a_cluster_stays_in_its_class_whatever_its_tenant_has_recorded() -> None:
    scene = Scene()
    restrict(scene)
    made = scene.add_cluster(className="restricted", own={f"k{number}": "x" * 60 for number in range(2000)})
    scene.change(kinds.NESTED_CLUSTER, made | {"status": {"run": {"steps": LARGE_STEPS}}})
    await ClusterReconciler(scene.context).reconcile("team-a", "own")
    found = scene.api.look(kinds.NETWORK_POLICY, "own-app", "team-a")
    assert found is not None
    assert "0.0.0.0/0" not in json.dumps(found)


async def test_a_cluster_that_is_too_large_to_be_read_is_refused_and_gets_nothing() -> None:
    scene = Scene()
    restrict(scene)
    scene.add_cluster(className="restricted", successPolicy={"targets": [LARGE_TARGET]})
    for _ in range(2):
        await ClusterReconciler(scene.context).reconcile("team-a", "own")
    status = (scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {})["status"]
    (said,) = status["conditions"]
    assert (said["type"], said["status"], said["reason"]) == ("Admitted", "False", "ProvisioningFailed")
    assert said["message"].endswith("bytes as JSON; at most 262144 are accepted")
    assert {kind for kind, _, _ in scene.api.objects} == {"nestedclusters"}
    # The second pass has nothing to write.
    assert [item for item in scene.api.asked if not item.startswith("GET ")] == ["APPLY nestedclusters team-a/own/status"]


async def test_a_server_that_is_too_large_to_be_read_is_not_taken_for_none() -> None:
    scene = Scene()
    made = scene.add_cluster()
    name = names.child("own", Part.SERVER)
    meta = {"name": name, "namespace": "team-a", "ownerReferences": [{"uid": made["metadata"]["uid"]}]}
    huge = {"metadata": meta, "spec": {"template": {"metadata": {"annotations": {"a": "x" * 70_000}}}}}
    scene.show(kinds.STATEFUL_SET, TRIMS[kinds.STATEFUL_SET](huge))
    await reconcile(scene)
    (said,) = (scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {})["status"]["conditions"]
    assert said["message"] == f"StatefulSet '{name}': it cannot be read: it has more than 65536 bytes as JSON"


async def test_a_refused_second_cluster_ends_no_pod_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.add_cluster("first")
    scene.add_cluster("second", created="2026-02-01T00:00:00Z", suspend=True)
    own = {labels.CLUSTER: "first", labels.COMPONENT: labels.COMPONENT_APP}
    scene.show(kinds.POD, {"metadata": {"name": "web", "namespace": "team-a", "labels": own}, "status": {"phase": "Running"}})
    monkeypatch.setattr(suspend, "CONFIRM_SECONDS", -1)
    await reconcile(scene, "second")
    assert scene.api.look(kinds.POD, "web", "team-a") is not None
    (said,) = (scene.api.look(kinds.NESTED_CLUSTER, "second", "team-a") or {})["status"]["conditions"]
    assert said["message"] == "NestedCluster 'first' already uses this namespace; only one is allowed per namespace"


def is_online(scene: Scene, name: str = "own") -> bool:
    """Whether the pods of a cluster may connect to the internet."""
    found = scene.api.look(kinds.NETWORK_POLICY, f"{name}-app-out", "team-a") or {}
    return "0.0.0.0/0" in str(found["spec"]["egress"])


def show_server(scene: Scene) -> None:
    """Have the informer know the cluster's StatefulSet."""
    scene.show(kinds.STATEFUL_SET, scene.api.look(kinds.STATEFUL_SET, "own-k3s", "team-a") or {})


async def run_one_that_goes_offline() -> Scene:
    """A running cluster whose pods may connect to the internet, and whose class by now forbids that."""
    scene = Scene()
    scene.add_cluster()
    await reconcile(scene)
    assert is_online(scene)
    show_server(scene)
    scene.set_class("Baseline", network={"internet": "None"})
    return scene


@pytest.mark.parametrize("error", [Refused("X", "refused"), ForeignObject("not ours"), Forbidden(403, "Forbidden", "no")])
async def test_a_refused_cluster_that_runs_is_held_to_what_its_class_allows_now(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await run_one_that_goes_offline()

    async def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(ClusterReconciler, "_check_names", fail)
    await reconcile(scene)
    assert not is_online(scene)


async def test_a_running_cluster_that_becomes_too_large_to_be_read_is_held_to_what_its_class_allows_now() -> None:
    scene = await run_one_that_goes_offline()
    made = scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {}
    large = {**made, "spec": made["spec"] | {"successPolicy": {"targets": [LARGE_TARGET]}}}
    scene.change(kinds.NESTED_CLUSTER, large)
    await reconcile(scene)
    assert find_fault(scene.context.cache.clusters.get("own", "team-a"))
    assert not is_online(scene)


async def test_a_refused_cluster_that_was_never_made_overwrites_no_policy_of_its_user() -> None:
    scene = Scene()
    scene.add_cluster()
    theirs = {"metadata": {"name": "own-app", "namespace": "team-a"}, "spec": {"egress": [{"cidr": "0.0.0.0/0"}]}}
    scene.api.put(kinds.NETWORK_POLICY, theirs)
    await reconcile(scene)
    found = scene.api.look(kinds.NETWORK_POLICY, "own-app", "team-a") or {}
    assert found["spec"] == theirs["spec"]
