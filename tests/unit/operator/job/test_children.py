"""What a job's namespace gets, in which order; two jobs of one application side by side, and a job without one."""

import pytest

from nestor.api import conditions, labels, names
from nestor.kube import Forbidden, kinds
from nestor.operator.status.report import write_status
from tests.unit.operator.builders import READY, build_app, build_cluster, build_job, build_pod
from tests.unit.operator.scene import HOME, Scene

STAGES = (
    (
        f"APPLY services {HOME}/hello-k3s",
        f"APPLY nestedclusters {HOME}/hello",
        f"APPLY secrets {HOME}/hello-plan",
        f"APPLY limitranges {HOME}/nestor",
    ),
    (f"APPLY secrets {HOME}/hello-access", f"APPLY nestedclusters {HOME}/hello/status"),
    (
        f"APPLY statefulsets {HOME}/hello-k3s",
        "POST secrets team-a/hello-kubeconfig",
        f"APPLY ingresses {HOME}/hello",
        f"APPLY resourcequotas {HOME}/nestor",
    ),
)


async def test_nothing_is_made_before_what_it_needs() -> None:
    """A quota refuses pods and Secrets until the host has counted what there is."""
    scene = await Scene.started()
    first, second, third = ([scene.api.asked.index(item) for item in stage] for stage in STAGES)
    assert max(first) < min(second)
    assert max(second) < min(third)


@pytest.mark.parametrize("refused", ["hello-plan", "hello-access"])
async def test_without_what_it_needs_no_server_is_made(refused: str) -> None:
    scene = Scene()
    scene.add_job()
    error = Forbidden(403, "Forbidden", "exceeded quota")
    scene.api.refusal = lambda _, body: error if body["metadata"].get("name") == refused else None
    await scene.run()
    assert any(line.endswith(refused) for line in scene.api.asked)
    assert STAGES[2][0] not in scene.api.asked


async def test_a_kubeconfig_that_cannot_be_written_is_told_and_ends_nothing() -> None:
    scene = Scene()
    scene.add_job()
    scene.api.put(kinds.SECRET, {"metadata": {"name": "hello-kubeconfig", "namespace": "team-a"}})
    await scene.run()
    assert STAGES[2][0] in scene.api.asked
    assert "kubeconfigSecretName" not in scene.job["status"]
    assert scene.said(conditions.ADMITTED)[0] == "True"


async def test_two_jobs_of_one_name_and_kind_share_nothing() -> None:
    scene = Scene()
    homes = []
    for namespace, uid in (("team-a", "1234"), ("team-b", "5678")):
        job = scene.add_job() if namespace == "team-a" else build_job(namespace=namespace)
        job["metadata"] |= {"uid": uid, "finalizers": ["nestor.dev/cleanup"]}
        scene.change(kinds.NESTED_APP_JOB, job)
        await scene.reconciler.reconcile(namespace, "hello")
        made = scene.api.look(kinds.NESTED_APP_JOB, "hello", namespace) or {}
        homes.append(made["status"]["namespace"])
    assert len(set(homes)) == 2
    for kind in (kinds.NESTED_CLUSTER, kinds.STATEFUL_SET, kinds.SECRET, kinds.SERVICE):
        places = {place for plural, place, name in scene.api.objects if plural == kind.plural and name.startswith("hello")}
        assert places >= set(homes)


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
    await scene.run()
    assert (scene.api.look(kinds.CONFIG_MAP, "hello-templates", HOME) is not None) is is_admitted
    assert scene.said(conditions.ADMITTED)[1] == (conditions.ADMITTED_REASON if is_admitted else conditions.TEMPLATES_NOT_FOUND)


async def test_nothing_is_made_in_a_namespace_before_the_status_has_its_uid() -> None:
    scene = await Scene.started()
    first = next(index for index, line in enumerate(scene.api.asked) if f" {HOME}/" in line)
    recorded = scene.api.asked.index("APPLY nestedappjobs team-a/hello/status")
    assert scene.api.asked.index(f"POST namespaces {HOME}") < recorded < first
    live = scene.look(kinds.NAMESPACE, HOME, "")
    assert scene.api.bodies[recorded]["status"]["namespaceUID"] == live["metadata"]["uid"]


async def test_a_status_made_from_an_older_state_of_the_job_does_not_lose_the_record() -> None:
    scene = Scene()
    before = scene.add_job()
    await scene.run()
    live = scene.look(kinds.NAMESPACE, HOME, "")
    await write_status(scene.context, before, {"namespace": HOME})
    assert scene.job["status"] == {"namespace": HOME, "namespaceUID": live["metadata"]["uid"]}


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_default_host_that_is_also_anothers_is_not_given_to_the_first_to_come(is_shared: bool) -> None:
    scene = Scene()
    if is_shared:  # where a job `hello-team` would have the same
        scene.show(kinds.NAMESPACE, {"metadata": {"name": "a"}})
    scene.add_job()
    await scene.run()
    host = names.default_host("hello", "team-a", "jobs.test", is_shared=is_shared)
    assert scene.job["status"]["url"] == f"http://{host}:8080/"


async def test_a_job_without_an_application_is_ready_with_its_cluster_and_leaves_out_the_other_stages() -> None:
    scene = Scene()
    job = scene.add_job()
    del job["spec"]["app"]
    scene.change(kinds.NESTED_APP_JOB, job)
    await scene.run()
    scene.show_home()
    made = scene.look(kinds.NESTED_CLUSTER, "hello")
    scene.change(kinds.NESTED_CLUSTER, made | {"status": made.get("status", {}) | build_cluster()["status"]})
    scene.show(kinds.POD, build_pod("hello-k3s-0", status=READY, namespace=HOME))
    await scene.run()
    status = scene.job["status"]
    assert {item["type"]: (item["status"], item["reason"]) for item in status["conditions"]} == {
        conditions.ADMITTED: ("True", conditions.ADMITTED_REASON),
        conditions.CLUSTER_READY: ("True", conditions.PROVISIONED),
        conditions.STEPS_APPLIED: ("False", conditions.NOT_REQUESTED),
        conditions.EXPOSED: ("False", conditions.NOT_REQUESTED),
        conditions.READY: ("True", conditions.APP_READY),
        conditions.SUCCEEDED: ("Unknown", conditions.RUNNING),
    }
    assert status["kubeconfigSecretName"] == "hello-kubeconfig"
    assert not status.keys() & {"command", "steps", "targets", "url", "appDigest"}
    assert scene.api.look(kinds.SECRET, "hello-kubeconfig", "team-a")
    assert scene.api.look(kinds.SECRET, "hello-plan", HOME) is None, "there is no runner"
    assert [line for line in scene.api.asked if " pods " in line and "POST" in line] == []


async def test_a_job_that_is_made_suspended_says_so_and_has_nothing() -> None:
    scene = await Scene.started(suspend=True)
    assert scene.said(conditions.READY)[:2] == ("False", conditions.SUSPENDED)
    assert scene.look(kinds.NAMESPACE, HOME, "") == {}
