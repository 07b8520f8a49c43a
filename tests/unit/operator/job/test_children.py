"""What a job's namespace gets, in which order, and two jobs of one application side by side."""

from __future__ import annotations

import pytest

from nestor.api import conditions, labels, names
from nestor.cluster.shape import Host
from nestor.kube import Forbidden, kinds
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.status.report import write_status
from nestor.operator.world.context import Context
from tests.unit.operator.builders import build_app, build_job
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


@pytest.mark.parametrize(
    ("namespace", "marks", "is_admitted"),
    [
        ("nestor-system", {}, True),
        ("team-b", {}, False),
        ("team-a", {}, False),
        ("team-b", {labels.CATALOG: "false"}, False),
        ("team-b", {labels.CATALOG: "true"}, True),
    ],
)
async def test_a_catalogs_entry_takes_templates_only_from_where_their_owner_lets_it(
    namespace: str, marks: dict[str, str], is_admitted: bool
) -> None:
    """Whoever may write entries must not read by them what he may not read himself."""
    scene = Scene()
    meta = {"name": "theirs", "namespace": namespace, "labels": marks}
    scene.api.put(kinds.CONFIG_MAP, {"metadata": meta, "data": {"web.yml": "secret"}})
    entry = build_app("shop", image=None, templatesFrom={"configMapRef": {"name": "theirs", "namespace": namespace}})
    scene.context.cache.apps.put(entry)
    scene.add_job(app=None, appRef={"name": "shop"})
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    home = names.job_namespace("hello", "team-a", "1234")
    assert (scene.api.look(kinds.CONFIG_MAP, "hello-templates", home) is not None) is is_admitted
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    found = conditions.find(job["status"]["conditions"], conditions.ADMITTED) or {}
    assert found["reason"] == (conditions.ADMITTED_REASON if is_admitted else conditions.TEMPLATES_NOT_FOUND)


async def test_a_namespace_beyond_its_limit_of_jobs_gets_no_further_cluster() -> None:
    scene = Scene()
    scene.set_class("Privileged", maxJobsPerNamespace=1)
    for name, uid in (("hello", "1234"), ("further", "5678")):
        job = build_job(name)
        job["metadata"] |= {"uid": uid, "finalizers": [labels.FINALIZER]}
        scene.change(kinds.NESTED_APP_JOB, job)
        await JobReconciler(scene.context).reconcile("team-a", name)
        scene.change(kinds.NESTED_APP_JOB, scene.api.look(kinds.NESTED_APP_JOB, name, "team-a") or {})
    assert {key[2] for key in scene.api.objects if key[0] == kinds.NESTED_CLUSTER.plural} == {"hello"}


async def test_the_status_proves_to_the_next_operator_whose_the_namespace_is() -> None:
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    home = names.job_namespace("hello", "team-a", "1234")
    live = scene.api.look(kinds.NAMESPACE, home) or {}
    job = scene.change(kinds.NESTED_APP_JOB, scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {})
    assert job["status"]["namespaceUID"] == live["metadata"]["uid"]
    scene.show(kinds.NAMESPACE, live)
    context = Context.create(scene.context.api, scene.context.settings, scene.context.cache, Host(()))
    await JobReconciler(context).reconcile("team-a", "hello")
    assert (scene.api.look(kinds.NAMESPACE, home) or {})["metadata"]["uid"] == live["metadata"]["uid"]


async def test_nothing_is_made_in_a_namespace_before_the_status_has_its_uid() -> None:
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    home = names.job_namespace("hello", "team-a", "1234")
    first = next(index for index, line in enumerate(scene.api.asked) if f" {home}/" in line)
    recorded = scene.api.asked.index("APPLY nestedappjobs team-a/hello/status")
    assert scene.api.asked.index(f"POST namespaces {home}") < recorded < first
    live = scene.api.look(kinds.NAMESPACE, home) or {}
    assert scene.api.bodies[recorded]["status"]["namespaceUID"] == live["metadata"]["uid"]


async def test_a_status_made_from_an_older_state_of_the_job_does_not_lose_the_record() -> None:
    scene = Scene()
    before = scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    home = names.job_namespace("hello", "team-a", "1234")
    live = scene.api.look(kinds.NAMESPACE, home) or {}
    await write_status(scene.context, before, {"namespace": home})
    after = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert after["status"] == {"namespace": home, "namespaceUID": live["metadata"]["uid"]}


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_default_host_that_is_also_anothers_is_not_given_to_the_first_to_come(is_shared: bool) -> None:
    scene = Scene()
    if is_shared:  # where a job `hello-team` would have the same
        scene.show(kinds.NAMESPACE, {"metadata": {"name": "a"}})
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    host = names.default_host("hello", "team-a", "jobs.test", is_shared=is_shared)
    assert job["status"]["url"] == f"http://{host}:8080/"
