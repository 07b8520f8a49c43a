"""What becomes of the hosts of a job that is refused, as its status says it."""

from __future__ import annotations

from nestor import names
from nestor.api import conditions, labels
from nestor.kube import kinds
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import Scene

VICTIMS = "shop-team-b.jobs.test"
HOME = names.job_namespace("hello", "team-a", "1234")


def condition(job: Object, kind: str) -> tuple[str, str, str]:
    """Status, reason and message."""
    found = conditions.find(job["status"]["conditions"], kind) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def test_a_refused_job_that_loses_its_host_says_why_and_goes_on_saying_it() -> None:
    scene = Scene()
    reconciler = JobReconciler(scene.context)
    scene.add_job(expose={"host": VICTIMS})
    await reconciler.reconcile("team-a", "hello")
    made = scene.api.look(kinds.INGRESS, "hello", HOME)
    assert made is not None
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    scene.show(kinds.INGRESS, made)
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert job["status"]["url"] == f"http://{VICTIMS}:8080/"
    job["spec"]["command"] = "no such command"
    scene.change(kinds.NESTED_APP_JOB, job)
    await reconciler.reconcile("team-a", "hello")
    assert scene.api.look(kinds.INGRESS, "hello", HOME) is not None

    victim = build_job("shop", "team-b")
    victim["metadata"] |= {"uid": "2", "creationTimestamp": "2026-02-01T00:00:00Z"}
    scene.change(kinds.NESTED_APP_JOB, victim)
    said = "False", conditions.HOSTNAME_CONFLICT, f"host '{VICTIMS}' is the default host of job 'shop' in namespace 'team-b'"
    for _ in range(2):
        await reconciler.reconcile("team-a", "hello")
        assert scene.api.look(kinds.INGRESS, "hello", HOME) is None
        scene.hide(kinds.INGRESS, made)
        job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
        assert condition(job, conditions.EXPOSED) == said
        assert condition(job, conditions.ADMITTED)[:2] == ("False", conditions.COMMAND_NOT_FOUND)
        assert "url" not in job["status"]
        assert [(item["ready"], item["message"], "url" in item) for item in job["status"]["targets"]] == [(False, said[2], False)]
    events = [item for key, item in scene.api.objects.items() if key[0] == "events"]
    assert [item["message"] for item in events if item["reason"] == conditions.HOSTNAME_CONFLICT] == [said[2]]
    assert made["metadata"]["labels"][labels.COMPONENT] == labels.COMPONENT_EXPOSURE
