"""What a job's namespace gets, and two jobs of one application side by side."""

from __future__ import annotations

from nestor import names
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


async def test_default_limits_come_before_any_pod_and_the_quota_after_what_all_pods_need() -> None:
    """A quota refuses pods and Secrets until the host has counted what there is."""
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    home = names.job_namespace("hello", "team-a", "1234")
    asked = [line.removeprefix("APPLY ") for line in scene.api.asked if line.startswith("APPLY") and f" {home}/" in line]
    limits, access, quota, server = (
        asked.index(f"{kind} {home}/{name}")
        for kind, name in (
            ("limitranges", "nestor"),
            ("secrets", "hello-access"),
            ("resourcequotas", "nestor"),
            ("statefulsets", "hello-k3s"),
        )
    )
    assert limits < access < min(quota, server)
