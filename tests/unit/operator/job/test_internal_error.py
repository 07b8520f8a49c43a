"""A pass that fails by a fault of ours, or by what an API server goes on saying: the job still keeps its limits."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions, labels, names
from nestor.cluster.provision import Provisioner
from nestor.kube import ApiError, kinds
from nestor.operator.guests.enforcement.keeper import Enforcement
from nestor.operator.job import admitted, reconcile
from nestor.operator.job.admitted import AdmittedJobs
from nestor.operator.job.children import ChildrenKeeper
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import Scene

HOME = names.job_namespace("hello", "team-a", "1234")
LONG_AGO = "2026-01-01T00:00:00Z"


class Fault(RuntimeError):
    """What nobody has thought of."""


async def make_job(**spec: Any) -> tuple[Scene, JobReconciler]:
    """A job that has run since long ago, with a pod."""
    scene = Scene()
    scene.add_job(**spec)
    reconciler = JobReconciler(scene.context)
    await reconciler.reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(kinds.NESTED_APP_JOB, job | {"status": job["status"] | {"startTime": LONG_AGO}})
    own = labels.of_job("hello", "team-a", "1234") | {labels.COMPONENT: labels.COMPONENT_APP}
    scene.show(kinds.POD, {"metadata": {"name": "web", "namespace": HOME, "uid": "p", "labels": own}, "spec": {}, "status": {}})
    return scene, reconciler


def said(scene: Scene, kind: str) -> tuple[str, str]:
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    found = conditions.find(job["status"]["conditions"], kind) or {}
    return found["status"], found["reason"]


def is_stopped(scene: Scene) -> bool:
    """Whether the syncer is told to end the application."""
    cluster = scene.api.look(kinds.NESTED_CLUSTER, "hello", HOME) or {}
    return bool(cluster["spec"].get("suspend"))


PARTS = [
    (reconcile, "keep_policy"),
    (Enforcement, "admit"),
    (admitted, "track_data"),
    (admitted, "decide_lifecycle"),
    (ChildrenKeeper, "ensure"),
    (AdmittedJobs, "_report"),
]
"""What a pass calls, one after the other."""


@pytest.mark.parametrize(("where", "part"), PARTS, ids=[part for _, part in PARTS])
async def test_a_job_ends_at_its_deadline_whatever_part_of_its_pass_fails(
    monkeypatch: pytest.MonkeyPatch, where: Any, part: str
) -> None:
    scene, reconciler = await make_job(activeDeadlineSeconds=60)

    def fail(*_: Any, **__: Any) -> None:
        raise Fault("the password is 1234")

    async def follow(job: Object) -> None:
        told.append(job["metadata"]["name"])

    told: list[str] = []
    monkeypatch.setattr(where, part, fail)
    monkeypatch.setattr(reconciler.guests[2], "follow", follow)
    result = await reconciler.reconcile("team-a", "hello")
    assert isinstance(result.error, Fault)
    assert told == ["hello"]
    assert said(scene, conditions.ADMITTED) == ("False", conditions.INTERNAL_ERROR)
    assert said(scene, conditions.SUCCEEDED) == ("False", conditions.DEADLINE_EXCEEDED)
    assert is_stopped(scene)
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert "Fault" in str(job["status"])
    assert "1234" not in str(job["status"]["conditions"])

    monkeypatch.undo()
    assert (await reconciler.reconcile("team-a", "hello")).error is None
    assert said(scene, conditions.ADMITTED)[0] == "True"


async def test_a_fault_in_what_a_refused_job_may_lose_does_not_keep_it_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, reconciler = await make_job(activeDeadlineSeconds=60)
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(kinds.NESTED_APP_JOB, job | {"spec": job["spec"] | {"command": "no such command"}})

    def fail(*_: Any, **__: Any) -> None:
        raise Fault

    for part in ("apply_size", "build_shape"):
        monkeypatch.setattr(f"nestor.operator.job.children.{part}", fail)
    monkeypatch.setattr("nestor.operator.job.refused.withdraw_lost", fail)
    monkeypatch.setattr(Provisioner, "keep_keys", fail)
    assert isinstance((await reconciler.reconcile("team-a", "hello")).error, Fault)
    assert said(scene, conditions.ADMITTED) == ("False", conditions.COMMAND_NOT_FOUND)
    assert said(scene, conditions.SUCCEEDED) == ("False", conditions.DEADLINE_EXCEEDED)
    assert is_stopped(scene)


async def test_an_error_of_the_api_server_may_pass_before_the_job_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, reconciler = await make_job(activeDeadlineSeconds=60)

    async def fail(*_: Any, **__: Any) -> None:
        raise ApiError(500, "InternalError", "failed calling webhook")

    monkeypatch.setattr(reconcile, "keep_policy", fail)
    for _ in range(reconcile.PATIENCE - 1):
        with pytest.raises(ApiError):
            await reconciler.reconcile("team-a", "hello")
        assert said(scene, conditions.ADMITTED)[0] == "True"
    assert isinstance((await reconciler.reconcile("team-a", "hello")).error, ApiError)
    assert said(scene, conditions.ADMITTED) == ("False", conditions.INTERNAL_ERROR)
    assert is_stopped(scene)
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert "the API server said: failed calling webhook" in str(job["status"]["conditions"])


@pytest.mark.parametrize(
    "spec", [{"app": "cannot be read"}, {"placement": {"nodeLabels": {"x": "y" * 100_000}, "bogus": "z" * 200_000}}]
)
async def test_a_job_whose_spec_cannot_be_read_ends_at_its_deadline(spec: dict[str, Any]) -> None:
    scene, reconciler = await make_job(activeDeadlineSeconds=60)
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(kinds.NESTED_APP_JOB, job | {"spec": job["spec"] | spec})
    await reconciler.reconcile("team-a", "hello")
    assert said(scene, conditions.ADMITTED) == ("False", conditions.APPDEF_INVALID)
    assert said(scene, conditions.SUCCEEDED) == ("False", conditions.DEADLINE_EXCEEDED)
    assert is_stopped(scene)
