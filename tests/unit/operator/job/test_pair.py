"""Two jobs of one application side by side."""

from __future__ import annotations

from nestor.kube import kinds
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.builders import build_job
from tests.unit.operator.scene import Scene


async def test_two_jobs_of_one_name_and_kind_share_nothing() -> None:
    scene = Scene()
    homes = []
    for namespace, uid in (("team-a", "1234"), ("team-b", "5678")):
        job = scene.add_job() if namespace == "team-a" else build_job(namespace=namespace)
        job["metadata"] |= {"uid": uid, "finalizers": ["nestor.dev/cleanup"]}
        scene.change(kinds.NESTED_APP_JOB, job)
        await JobReconciler(scene.context).reconcile(namespace, "hello")
        made = scene.api.look(kinds.NESTED_APP_JOB, "hello", namespace) or {}
        homes.append(made["status"]["namespace"])
    assert len(set(homes)) == 2
    for kind in (kinds.NESTED_CLUSTER, kinds.STATEFUL_SET, kinds.SECRET, kinds.SERVICE):
        places = {place for plural, place, name in scene.api.objects if plural == kind.plural and name.startswith("hello")}
        assert places >= set(homes)
