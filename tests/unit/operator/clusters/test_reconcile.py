"""What a pass over a user's cluster comes to."""

from __future__ import annotations

from typing import Any

import pytest

from nestor import names
from nestor.api import conditions, labels
from nestor.kube import ApiError, Forbidden, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.clusters.reconcile import ClusterReconciler
from nestor.operator.lifecycle import suspend
from nestor.operator.result import Result
from tests.unit.operator.scene import Scene

Object = dict[str, Any]

OF_JOB, HOME = labels.of_job("hello", "team-a", "1234"), names.job_namespace("hello", "team-a", "1234")
SERVER = "statefulsets", "team-a", "own-k3s"


async def look(scene: Scene) -> Result:
    """A process's first pass."""
    return await ClusterReconciler(scene.context).reconcile("team-a", "own")


def find_admitted(scene: Scene) -> Object:
    """What the cluster's status says of it."""
    status = (scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {}).get("status") or {}
    return conditions.find(status.get("conditions"), conditions.ADMITTED) or {}


def refuse(scene: Scene, error: ApiError) -> None:
    """Have the host take no StatefulSet."""
    scene.api.refusal = lambda _, body: error if "serviceName" in body.get("spec", {}) else None


async def test_names_are_asked_for_once() -> None:
    scene = Scene()
    scene.add_cluster()
    reconciler = ClusterReconciler(scene.context)
    for names_asked in (1, 0):
        assert await reconciler.reconcile("team-a", "own") == Result(RESYNC_SECONDS)
        assert scene.api.asked.count("GET serviceaccounts team-a/own-syncer") == names_asked
        scene.api.asked.clear()
    assert SERVER in scene.api.objects
    assert find_admitted(scene)["status"] == "True"


@pytest.mark.parametrize("meta", [{}, {"deletionTimestamp": "now"}])
async def test_a_jobs_cluster_is_the_jobs(meta: Object) -> None:
    """Also when it goes: it has no finalizer of ours."""
    scene = Scene()
    own = {"name": "own", "namespace": HOME, "labels": OF_JOB, "uid": "u"}
    scene.change(kinds.NESTED_CLUSTER, {"metadata": own | meta, "spec": {"className": "default"}})
    assert await ClusterReconciler(scene.context).reconcile(HOME, "own") == Result()
    assert scene.api.asked == []


async def test_what_the_host_refuses_is_told_and_tried_again_with_growing_delays() -> None:
    scene, error = Scene(), Forbidden(403, "Forbidden", "exceeded quota")
    scene.add_cluster()
    refuse(scene, error)
    assert await look(scene) == Result(error=error)
    said = find_admitted(scene)
    assert (said["status"], said["reason"], said["message"]) == ("False", conditions.PROVISIONING_FAILED, "exceeded quota")


async def test_a_namespace_that_goes_is_no_refusal() -> None:
    scene = Scene()
    scene.add_cluster()
    refuse(scene, Forbidden(403, "Forbidden", "x", {"causes": [{"reason": "NamespaceTerminating"}]}))
    assert await look(scene) == Result(RESYNC_SECONDS)
    assert find_admitted(scene) == {}


def owned(name: str, owners: list[str], **spec: Any) -> Object:
    """Something of the cluster, by its label, and of these owners."""
    meta = {"name": name, "namespace": "team-a", "uid": name, "labels": {labels.CLUSTER: "own"}}
    return {"metadata": meta | {"ownerReferences": [{"uid": uid} for uid in owners]}, "spec": spec}


SPEC: Object = {"template": {"spec": {"containers": [{"name": "k3s", "image": "k3s:1"}]}}, "replicas": 1}
VOLUME = {"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1Gi"}}}}]}


@pytest.mark.parametrize(
    ("server", "claim", "is_taken"),
    [
        (None, None, True),
        (None, ["before"], False),
        (None, ["own-k3s"], False),
        ("own", ["own-k3s"], True),
        ("own", ["before"], False),
        # Its StatefulSet has not taken it yet.
        ("own", [], True),
        # The server of an earlier cluster of this name.
        ("before", ["own-k3s"], False),
    ],
)
async def test_a_volume_of_an_earlier_cluster_is_waited_for(server: str | None, claim: list[str] | None, is_taken: bool) -> None:
    scene = Scene()
    scene.add_cluster(persistence={"size": "1Gi"})
    if server is not None:
        scene.show(kinds.STATEFUL_SET, owned("own-k3s", [server], **SPEC, **VOLUME))
        scene.api.drop(kinds.STATEFUL_SET, "own-k3s", "team-a")  # the cache is behind
    if claim is not None:
        scene.show(kinds.PERSISTENT_VOLUME_CLAIM, owned(names.data_claim("own"), claim))
    if is_taken:
        await look(scene)
    else:
        with pytest.raises(RetryLater, match="is being deleted"):
            await look(scene)
    assert (SERVER in scene.api.objects) is is_taken


async def test_a_suspend_decides_about_the_server_and_when_to_look_again() -> None:
    scene = Scene()
    made = scene.add_cluster(suspend=True)
    scene.show(kinds.STATEFUL_SET, owned("own-k3s", ["own"], **SPEC, **VOLUME))
    found = await look(scene)
    assert scene.api.objects[SERVER]["spec"]["replicas"] == 1
    assert found.retry_after == pytest.approx(suspend.CONFIRM_SECONDS, abs=60)
    scene.change(kinds.NESTED_CLUSTER, made | {"status": {"suspended": True}})
    assert await look(scene) == Result(RESYNC_SECONDS)
    assert scene.api.objects[SERVER]["spec"]["replicas"] == 0
