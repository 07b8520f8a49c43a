"""The order in which a job's objects are created, and what does not keep it from its cluster."""

from __future__ import annotations

import pytest

from nestor.api import conditions, names
from nestor.kube import Forbidden, kinds
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.scene import Scene

HOME = names.job_namespace("hello", "team-a", "1234")
STAGES = (
    (f"APPLY services {HOME}/hello-k3s", f"APPLY nestedclusters {HOME}/hello", f"APPLY secrets {HOME}/hello-plan"),
    (f"APPLY secrets {HOME}/hello-access", f"APPLY nestedclusters {HOME}/hello/status"),
    (f"APPLY statefulsets {HOME}/hello-k3s", "POST secrets team-a/hello-kubeconfig", f"APPLY ingresses {HOME}/hello"),
)


async def test_nothing_is_made_before_what_it_needs() -> None:
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    first, second, third = ([scene.api.asked.index(item) for item in stage] for stage in STAGES)
    assert max(first) < min(second)
    assert max(second) < min(third)


@pytest.mark.parametrize("refused", ["hello-plan", "hello-access"])
async def test_without_what_it_needs_no_server_is_made(refused: str) -> None:
    scene = Scene()
    scene.add_job()
    error = Forbidden(403, "Forbidden", "exceeded quota")
    scene.api.refusal = lambda _, body: error if body["metadata"].get("name") == refused else None
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert any(line.endswith(refused) for line in scene.api.asked)
    assert STAGES[2][0] not in scene.api.asked


async def test_a_kubeconfig_that_cannot_be_written_is_told_and_ends_nothing() -> None:
    scene = Scene()
    job = scene.add_job()
    scene.api.put(kinds.SECRET, {"metadata": {"name": "hello-kubeconfig", "namespace": "team-a"}})
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert STAGES[2][0] in scene.api.asked
    said = scene.api.look(kinds.NESTED_APP_JOB, job["metadata"]["name"], "team-a") or {}
    assert "kubeconfigSecretName" not in said["status"]
    assert conditions.find(said["status"]["conditions"], conditions.ADMITTED)["status"] == "True"  # type: ignore[index]
