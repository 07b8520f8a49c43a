"""A job without an application: a cluster, and nothing that would install or expose something in it."""

from __future__ import annotations

from typing import Any

from nestor.api import conditions, names
from nestor.api.objects import Object, status_of
from nestor.kube import kinds
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import READY, build_cluster, build_pod
from tests.unit.operator.scene import Scene

HOME = names.job_namespace("hello", "team-a", "1234")


def add_job(scene: Scene, **spec: Any) -> None:
    job = scene.add_job(**spec)
    del job["spec"]["app"]
    scene.change(kinds.NESTED_APP_JOB, job)


async def run(scene: Scene, **status: Any) -> Object:
    """A pass, the cluster's start, and another pass; the job's status."""
    reconciler = JobReconciler(scene.context)
    await reconciler.reconcile("team-a", "hello")
    scene.show(kinds.NAMESPACE, scene.api.look(kinds.NAMESPACE, HOME) or {})
    made = scene.api.look(kinds.NESTED_CLUSTER, "hello", HOME) or {}
    told = build_cluster(**status)["status"]
    scene.change(kinds.NESTED_CLUSTER, {**made, "status": made.get("status", {}) | told})
    scene.show(kinds.POD, build_pod("hello-k3s-0", status=READY, namespace=HOME))
    await reconciler.reconcile("team-a", "hello")
    return status_of(scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a"))


def say(status: Object) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in status["conditions"]}


async def test_it_is_ready_with_its_cluster_and_leaves_out_the_other_stages() -> None:
    scene = Scene()
    add_job(scene)
    status = await run(scene)
    assert say(status) == {
        conditions.ADMITTED: ("True", conditions.ADMITTED_REASON),
        conditions.CLUSTER_READY: ("True", conditions.PROVISIONED),
        conditions.STEPS_APPLIED: ("False", conditions.NOT_REQUESTED),
        conditions.EXPOSED: ("False", conditions.NOT_REQUESTED),
        conditions.READY: ("True", conditions.APP_READY),
        conditions.SUCCEEDED: ("Unknown", conditions.RUNNING),
    }
    assert status["kubeconfigSecretName"] == "hello-kubeconfig"
    assert not status.keys() & {"command", "steps", "targets", "url", "appDigest"}


async def test_it_has_no_runner_and_nothing_for_one() -> None:
    scene = Scene()
    add_job(scene)
    await run(scene)
    assert scene.api.look(kinds.SECRET, "hello-kubeconfig", "team-a")
    assert scene.api.look(kinds.SECRET, find_home(scene.add_job()).child(names.Part.PLAN), HOME) is None
    assert [line for line in scene.api.asked if " pods " in line and ("create" in line or "POST" in line)] == []


async def test_it_can_end_by_what_its_user_runs_in_it() -> None:
    scene = Scene()
    add_job(scene, successPolicy={"targets": [{"kind": "Job", "name": "train"}]})
    status = await run(scene, outcome={"state": "Succeeded", "message": "done", "serverUID": "p1"})
    assert say(status)[conditions.SUCCEEDED] == ("True", conditions.COMPLETED)


async def test_it_is_suspended_as_others_are() -> None:
    scene = Scene()
    add_job(scene, suspend=True)
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    status = status_of(scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a"))
    assert say(status)[conditions.READY] == ("False", conditions.SUSPENDED)
    assert scene.api.look(kinds.NAMESPACE, HOME) is None
