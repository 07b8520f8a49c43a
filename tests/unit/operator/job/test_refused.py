"""What becomes of a job that is refused: of its hosts, as its status says it, and of what its class does not allow it."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions, labels, names
from nestor.cluster.provision import Provisioner
from nestor.kube import ApiError, Forbidden, kinds
from nestor.operator.admission.copied_inputs import TemplateCopies
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import Scene

VICTIMS = "shop-team-b.jobs.test"
HOME = names.job_namespace("hello", "team-a", "1234")


def condition(job: Object, kind: str) -> tuple[str, str, str]:
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


CLOSED: Object = {"network": {"internet": "None"}}


async def make_job() -> Scene:
    """A job that is made, and whose class allows the internet and a hundred pods."""
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert is_online(scene)
    assert count_pods(scene) == "102"
    return scene


def edit(scene: Scene, **spec: Any) -> None:
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(kinds.NESTED_APP_JOB, job | {"spec": job["spec"] | spec})


def is_online(scene: Scene) -> bool:
    """Whether the application may connect to the internet."""
    found = scene.api.look(kinds.NETWORK_POLICY, "hello-app-out", HOME) or {}
    return "0.0.0.0/0" in str(found["spec"]["egress"])


def count_pods(scene: Scene) -> str:
    """How many pods the quota allows."""
    found = scene.api.look(kinds.RESOURCE_QUOTA, "nestor", HOME) or {}
    return str(found["spec"]["hard"]["pods"])


def tighten(scene: Scene) -> None:
    """Have the class allow less of everything."""
    scene.set_class("Baseline", {"quota": {"pods": "5"}, "defaultResources": {"limits": {"cpu": "1"}}}, **CLOSED)


@pytest.mark.parametrize("spec", [{"parameters": {"bogus": 1}}, {"command": "no such command"}, {"app": "cannot be read"}])
async def test_what_the_class_no_longer_allows_ends_for_a_refused_job_too(spec: Object) -> None:
    scene = await make_job()
    edit(scene, **spec)
    tighten(scene)
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert condition(job, conditions.ADMITTED)[0] == "False"
    assert not is_online(scene)
    assert count_pods(scene) == "7"
    limits = scene.api.look(kinds.LIMIT_RANGE, "nestor", HOME) or {}
    assert limits["spec"]["limits"][0]["default"] == {"ephemeral-storage": "10Gi", "cpu": "1"}
    home = scene.api.look(kinds.NAMESPACE, HOME) or {}
    assert home["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"


async def test_it_ends_too_where_the_host_refuses_something_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await make_job()
    tighten(scene)

    async def fail(*_: Any) -> None:
        raise Forbidden(403, "Forbidden", "exceeded quota")

    monkeypatch.setattr(TemplateCopies, "ensure", fail)
    monkeypatch.setattr(Provisioner, "ensure_surroundings", fail)
    with pytest.raises(Forbidden):
        await check(JobReconciler(scene.context))
    assert not is_online(scene)
    assert count_pods(scene) == "7"


async def test_where_the_class_is_gone_the_walls_stay_as_they_are() -> None:
    scene = await make_job()
    scene.drop_class()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert is_online(scene)
    assert count_pods(scene) == "102"


async def test_a_refused_job_touches_no_namespace_of_others_and_makes_none() -> None:
    scene = await make_job()
    tighten(scene)
    home = scene.api.look(kinds.NAMESPACE, HOME) or {}
    home["metadata"]["labels"][labels.JOB_UID] = "another"
    scene.api.put(kinds.NAMESPACE, home)
    edit(scene, command="no such command")
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert is_online(scene)
    assert count_pods(scene) == "102"

    fresh = Scene()
    fresh.add_job(command="no such command")
    await JobReconciler(fresh.context).reconcile("team-a", "hello")
    assert fresh.api.look(kinds.NAMESPACE, HOME) is None


async def test_a_job_is_told_why_it_is_refused_even_if_its_walls_cannot_be_mended() -> None:
    scene = await make_job()
    edit(scene, command="no such command")
    tighten(scene)
    scene.api.refusal = lambda verb, body: ApiError(500, "InternalError", "broken") if "podSelector" in str(body) else None
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert condition(job, conditions.ADMITTED)[:2] == ("False", conditions.COMMAND_NOT_FOUND)


async def check(reconciler: JobReconciler) -> None:
    """A pass; raises what it ends with."""
    result = await reconciler.reconcile("team-a", "hello")
    if result.error is not None:
        raise result.error


def add_aged(scene: Scene, name: str, created: str, **spec: Any) -> None:
    """A job of that age, in a namespace with room for one."""
    scene.set_class("Baseline", maxJobsPerNamespace=1)
    job = build_job(name, **spec)
    job["metadata"] |= {"uid": name, "creationTimestamp": created, "finalizers": [labels.FINALIZER]}
    scene.change(kinds.NESTED_APP_JOB, job)


@pytest.mark.parametrize(
    ("young", "reason"), [({}, conditions.TOO_MANY_JOBS), ({"command": "no such command"}, conditions.ADMITTED_REASON)]
)
async def test_a_job_has_its_place_from_its_first_pass_on_unless_it_is_refused(young: Object, reason: str) -> None:
    scene = Scene()
    reconciler = JobReconciler(scene.context)
    add_aged(scene, "young", "2026-01-02T00:00:00Z", **young)
    scene.api.refusal = lambda _, body: ApiError(500, "InternalError", "broken") if "status" in body else None
    with pytest.raises(ApiError):
        await reconciler.reconcile("team-a", "young")
    scene.api.refusal = lambda *_: None
    add_aged(scene, "old", "2026-01-01T00:00:00Z")
    await reconciler.reconcile("team-a", "old")
    job = scene.api.look(kinds.NESTED_APP_JOB, "old", "team-a") or {}
    assert condition(job, conditions.ADMITTED)[1] == reason


async def test_a_job_says_for_how_long_it_may_run_by_its_class_too_and_while_it_is_refused() -> None:
    scene = Scene()
    scene.set_class("Privileged", maxActiveDeadlineSeconds=3600)
    scene.add_job()
    reconciler = JobReconciler(scene.context)

    async def read() -> int | None:
        await reconciler.reconcile("team-a", "hello")
        job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
        scene.change(kinds.NESTED_APP_JOB, job)
        found: int | None = job["status"].get("activeDeadlineSeconds")
        return found

    assert await read() == 3600
    edit(scene, activeDeadlineSeconds=60)
    assert await read() == 60
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(kinds.NESTED_APP_JOB, job | {"status": job["status"] | {"ranSeconds": 3570}})
    assert await read() == 30, "it ran before"
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(
        kinds.NESTED_APP_JOB, job | {"status": {key: job["status"][key] for key in job["status"] if key != "ranSeconds"}}
    )
    edit(scene, activeDeadlineSeconds=7200)
    assert await read() == 3600, "it is refused, and ends all the same"
    scene.set_class("Privileged")
    edit(scene, activeDeadlineSeconds=None)
    assert await read() is None


@pytest.mark.parametrize("wanted", [None, 7200], ids=["admitted", "refused"])
async def test_a_job_that_has_run_for_as_long_as_its_class_allows_ends(wanted: int | None) -> None:
    scene = Scene()
    scene.set_class("Privileged", maxActiveDeadlineSeconds=3600)
    scene.add_job()
    reconciler = JobReconciler(scene.context)
    await reconciler.reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    scene.change(kinds.NESTED_APP_JOB, job | {"status": job["status"] | {"ranSeconds": 3600}})
    edit(scene, activeDeadlineSeconds=wanted)
    await reconciler.reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert condition(job, conditions.ADMITTED)[0] == ("False" if wanted else "True")
    assert condition(job, conditions.SUCCEEDED)[:2] == ("False", conditions.DEADLINE_EXCEEDED)
