"""Kueue decides when jobs start: the real one, see `kueue.py`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver
from tests.integration.operator import kueue
from tests.integration.operator.conftest import Operator, operator_running, plane_running
from tests.integration.operator.lifetime import change, create_app_pod, tell, until_replicas, until_stopped
from tests.integration.operator.world import Object, be_ready_server, build_class, build_job, host_namespace, message_of
from tests.waiting import exists, gone, has, job_with, wait_for, wait_for_any

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first one builds Kueue, if `make test-full` has not

POD_TEMPLATE = Kind("", "v1", "podtemplates", "PodTemplate")
KUEUE = {"NESTOR_KUEUE": "true"}
QUEUE = {labels.KUEUE_QUEUE: "batch"}
URGENT = QUEUE | {labels.KUEUE_PRIORITY: "high"}
GPU = "nvidia.com/gpu"
DEFAULTS = {"requests": {"cpu": "10m"}, "limits": {"memory": "16Mi"}}
TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
FLAVORS = {"gold": {"nodeLabels": {"pool": "gold"}, "tolerations": [TOLERATION]}, "plain": {"nodeLabels": {"pool": "plain"}}}


@pytest.fixture(scope="module")
async def kueue_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane with Kueue, without an operator."""
    async with (
        plane_running("--set", "kueue.enabled=true") as plane,
        await Api.connect(str(plane.kubeconfig), manager="test") as api,
        kueue.KUEUE.running(plane, api),
    ):
        yield plane


@pytest.fixture
async def api(kueue_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with all rights."""
    async with await Api.connect(str(kueue_plane.kubeconfig), manager="test") as client:
        yield client


@pytest.fixture
async def kueue_operator(kueue_plane: apiserver.ControlPlane) -> AsyncIterator[Operator]:
    """An operator that has Kueue."""
    async with operator_running(kueue_plane, more=KUEUE) as running:
        yield running


@pytest.fixture
async def team(api: Api) -> AsyncIterator[str]:
    """A user's namespace with a queue, whose jobs are gone afterwards, and a class of the same name that has Kueue decide."""
    name = "team-kueue"
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": name}})
    for flavor, spec in FLAVORS.items():
        await api.apply(kueue.FLAVOR, {"metadata": {"name": flavor}, "spec": spec})
    await api.apply(kueue.PRIORITY, {"metadata": {"name": "high"}, "value": 1000})
    await offer(api)
    await api.apply(kueue.LOCAL_QUEUE, {"metadata": {"name": "batch", "namespace": name}, "spec": {"clusterQueue": "cq"}})
    await make_class(api, name)
    yield name
    for kind in (kinds.NESTED_APP_JOB, kueue.WORKLOAD):
        for item in await api.list(kind, name):
            await api.delete(kind, item["metadata"]["name"], name)
            await gone(api, kind, item["metadata"]["name"], name)


async def make_class(api: Api, name: str, mode: str = "Require", **quota: str) -> None:
    """A class whose jobs have 4 CPUs, and 8 on a big machine."""
    body = build_class(name)
    machines = [{"name": "big", "quota": {"requests.cpu": "8"}}]
    placement = {"machines": machines, "tolerations": ["own"]}
    own = {"requests.cpu": "4", "limits.memory": "8Gi", f"requests.{GPU}": "1"} | quota
    body["spec"] |= {"queue": {"kueue": mode}, "namespace": {"quota": own, "defaultResources": DEFAULTS}, "placement": placement}
    await api.apply(kinds.NESTED_CLASS, body)


async def offer(api: Api, plain: int = 0, gold: int = 1, **more: Any) -> None:
    """What the ClusterQueue has: in each flavor, room for the applications of so many jobs; in `plain`, also for all that runs
    beside these. `more`: of its spec.
    """
    flavors = [
        {
            "name": name,
            "resources": [
                {"name": "cpu", "nominalQuota": 4 * jobs + rest},
                {"name": "memory", "nominalQuota": f"{8 * (jobs + rest)}Gi"},
                {"name": GPU, "nominalQuota": jobs},
            ],
        }
        for name, jobs, rest in (("plain", plain, 2), ("gold", gold, 0))
    ]
    groups = [{"coveredResources": ["cpu", "memory", GPU], "flavors": flavors}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups, "preemption": {"withinClusterQueue": "LowerPriority"}}
    await api.apply(kueue.CLUSTER_QUEUE, {"metadata": {"name": "cq"}, "spec": spec | more})


async def until_counted(api: Api, **jobs: int) -> None:
    """Await for how many jobs' applications Kueue counts quota, by flavor."""

    def is_it(found: Object) -> bool:
        usage = found.get("status", {}).get("flavorsReservation", ())
        gpus = {item["name"]: int(each["total"]) for item in usage for each in item["resources"] if each["name"] == GPU}
        return gpus == {"plain": 0, "gold": 0} | jobs

    await exists(api, kueue.CLUSTER_QUEUE, "cq", "", is_it)


async def create(api: Api, name: str, team: str, own: Object | None = None, **spec: Any) -> Object:
    """A job with these labels, by default in the queue `batch`."""
    body = build_job(name, team, className=team, **spec)
    body["metadata"]["labels"] = QUEUE if own is None else own
    return await api.create(kinds.NESTED_APP_JOB, body)


async def workload_of(api: Api, job: Object) -> Object:
    """Await the job's Workload."""
    namespace, uid = job["metadata"]["namespace"], job["metadata"]["uid"]
    return await wait_for_any(api, kueue.WORKLOAD, namespace, lambda item: True, labels=f"{labels.KUEUE_JOB_UID}={uid}")


async def run(api: Api, name: str, team: str, own: Object | None = None) -> tuple[str, str]:
    """A job that Kueue has admitted and whose cluster works; its Workload's name and its own namespace."""
    job = await create(api, name, team, own)
    made = (await workload_of(api, job))["metadata"]["name"]
    where = await host_namespace(api, job)
    await be_ready_server(api, name, where)
    await job_with(api, name, team, conditions.CLUSTER_READY, "True")
    return made, where


async def waits(api: Api, name: str, team: str, text: str) -> None:
    """Await a job that waits, and is told this by Kueue."""

    def is_told(found: Object) -> bool:
        is_queued = has(conditions.ADMITTED, "False", conditions.QUEUED)(found)
        start, _, said = message_of(found, conditions.ADMITTED).partition(": ") if is_queued else ("", "", "")
        return start == "it waits for Kueue in LocalQueue 'batch'" and text in said

    await exists(api, kinds.NESTED_APP_JOB, name, team, is_told)


async def test_a_job_waits_for_kueue_and_runs_where_that_says(kueue_operator: Operator, api: Api, team: str) -> None:
    await offer(api, gold=0)
    job = await create(api, "first", team, URGENT)
    made = await workload_of(api, job)
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("NestedAppJob", job["metadata"]["uid"], True)
    spec = made["spec"]
    assert (spec["queueName"], spec["priority"], spec["priorityClassName"]) == ("batch", 1000, "high")
    sets = {item["name"]: item for item in spec["podSets"]}
    assert [(name, item["count"]) for name, item in sets.items()] == [("control-plane", 1), ("runner", 1), ("app", 1)]
    app = sets["app"]["template"]["spec"]
    assert app["containers"][0]["resources"]["requests"] == {"cpu": "4", "memory": "8Gi", GPU: "1"}
    assert app["tolerations"] == [{"key": "own", "operator": "Exists"}]
    for item in sets.values():
        template = item["template"] | {"metadata": {"labels": {"app": item["name"]}}}
        body = {"metadata": {"name": item["name"], "namespace": team}}
        await api.create(POD_TEMPLATE, body | {"template": template}, strict=True)

    await waits(api, "first", team, "insufficient quota for ")
    found = await api.get(kinds.NESTED_APP_JOB, "first", team)
    assert found["status"]["queue"].keys() == {"since"}
    assert await api.list(kinds.NAMESPACE, labels=labels.selector(job_uid=job["metadata"]["uid"])) == []

    await offer(api)
    found = await job_with(api, "first", team, conditions.ADMITTED, "True")
    assert "queue" not in found["status"]
    await until_counted(api, gold=1)
    where = await host_namespace(api, job)
    server = await exists(api, kinds.STATEFUL_SET, "first-k3s", where)
    assert server["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "plain"}

    def is_placed(item: Object) -> bool:
        placement = ((item.get("status") or {}).get("policy") or {}).get("placement") or {}
        keys = [taint.partition("=")[0].partition(":")[0] for taint in placement.get("tolerations") or ()]
        return placement.get("nodeSelector") == {"pool": "gold"} and keys == ["own", "gpu"]

    await exists(api, kinds.NESTED_CLUSTER, "first", where, is_placed)
    recorded = (await job_with(api, "first", team, conditions.ADMITTED, "True"))["status"]
    assert recorded["reserved"] == {"requests.cpu": "4", "limits.memory": "8589934592", f"requests.{GPU}": "1"}
    await kueue_operator.heard(api)
    assert is_placed(await api.get(kinds.NESTED_CLUSTER, "first", where))

    before = (await api.get(kinds.RESOURCE_QUOTA, "nestor", where))["spec"]["hard"]["requests.cpu"]
    await change(api, "first", team, machine="big")
    await kueue_operator.heard(api)
    assert (await api.get(kinds.RESOURCE_QUOTA, "nestor", where))["spec"]["hard"]["requests.cpu"] == before
    assert (await api.get(kueue.WORKLOAD, made["metadata"]["name"], team))["spec"]["podSets"] == spec["podSets"]


async def test_a_preempted_job_stops_and_waits_again(kueue_operator: Operator, api: Api, team: str) -> None:
    await make_class(api, team, "Allow")
    name, where = await run(api, "second", team)
    job = await api.get(kinds.NESTED_APP_JOB, "second", team)
    await create_app_pod(api, "web", where, job)
    urgent = await create(api, "urgent", team, URGENT)
    await until_stopped(api, "second", where)
    await waits(api, "second", team, "Preempted to accommodate a workload")
    await kueue_operator.heard(api)
    await until_counted(api, gold=1)
    kept = await api.get(kueue.WORKLOAD, name, team)
    assert has("QuotaReserved", "True")(kept), "its pods are there yet"
    assert not has("QuotaReserved", "True")(await workload_of(api, urgent))

    await api.delete(kinds.POD, "web", where)
    await tell(api, "second", where, suspended=True)
    await job_with(api, "urgent", team, conditions.ADMITTED, "True")
    await until_counted(api, gold=1)
    await waits(api, "second", team, "")
    released = await api.get(kueue.WORKLOAD, name, team)
    assert has("Requeued", "True", "Preempted")(released)
    assert has("Admitted", "False")(released)
    assert has("Evicted", "True", "Preempted")(released)
    assert has("PodsReady", "False", "WaitForStart")(released)
    assert "admission" not in released["status"]
    assert "startTime" not in (await api.get(kinds.NESTED_APP_JOB, "second", team))["status"]
    await until_replicas(api, "second", where, 0)  # Kueue counts its server as free

    await offer(api, plain=1)
    await until_stopped(api, "second", where, is_stopped=False)
    found = await job_with(api, "second", team, conditions.ADMITTED, "True")
    assert found["status"]["assigned"]["nodeSelector"] == {"pool": "plain"}
    await until_counted(api, plain=1, gold=1)


async def test_kueue_is_told_how_a_job_is_and_that_it_has_ended(kueue_operator: Operator, api: Api, team: str) -> None:
    name, where = await run(api, "third", team)
    await wait_for(api, kueue.WORKLOAD, name, team, has("PodsReady", "False", "WaitForStart"))
    await create(api, "next", team)
    await waits(api, "next", team, "insufficient unused quota for ")
    await change(api, "third", team, activeDeadlineSeconds=1)
    await job_with(api, "third", team, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)
    assert not has("Finished", "True")(await api.get(kueue.WORKLOAD, name, team)), "its pods may be there yet"
    await until_counted(api, gold=1)
    await tell(api, "third", where, suspended=True)
    done = await exists(api, kueue.WORKLOAD, name, team, has("Finished", "True", "Failed"))
    assert "activeDeadlineSeconds" in message_of(done, "Finished")
    await job_with(api, "next", team, conditions.ADMITTED, "True")
    await until_counted(api, gold=1)
    await api.delete(kinds.NESTED_APP_JOB, "next", team)
    await until_counted(api)


async def test_another_operator_finds_what_kueue_said(
    kueue_operator: Operator, kueue_plane: apiserver.ControlPlane, api: Api, team: str
) -> None:
    """Who holds a queue or a job lets it go on later."""
    name, where = await run(api, "fifth", team)
    kueue_operator.kill()
    sent = await create(api, "early", team, managedBy=labels.MULTIKUEUE)
    await offer(api, stopPolicy="HoldAndDrain")
    await exists(api, kueue.WORKLOAD, name, team, has("Evicted", "True", "ClusterQueueStopped"))
    async with operator_running(kueue_plane, more=KUEUE):
        await workload_of(api, sent)
        await api.delete(kinds.NESTED_APP_JOB, "early", team)
        await until_stopped(api, "fifth", where)
        await until_counted(api, gold=1)
        await tell(api, "fifth", where, suspended=True)
        await exists(api, kueue.WORKLOAD, name, team, has("Requeued", "False", "ClusterQueueStopped"))
        await until_counted(api)
        await offer(api, stopPolicy="None")
        await until_stopped(api, "fifth", where, is_stopped=False)

        await tell(api, "fifth", where, suspended=False)
        await api.patch(kueue.WORKLOAD, name, team, {"spec": {"active": False}})
        await until_stopped(api, "fifth", where)
        await tell(api, "fifth", where, suspended=True)
        await waits(api, "fifth", team, "The workload is deactivated")
        await until_counted(api)
        await api.patch(kueue.WORKLOAD, name, team, {"spec": {"active": True}})
        await until_stopped(api, "fifth", where, is_stopped=False)
        await api.delete(kinds.NESTED_APP_JOB, "fifth", team)
        await gone(api, kinds.NESTED_APP_JOB, "fifth", team)


async def test_multikueue_gets_a_workload_for_its_jobs_and_gives_one_to_others(
    kueue_operator: Operator, api: Api, team: str
) -> None:
    await offer(api, gold=2)
    sent = await create(api, "sent", team, managedBy=labels.MULTIKUEUE)
    made = await workload_of(api, sent)
    status = {"url": "https://elsewhere.test", "kubernetesVersion": "v1.36.2+k3s1"}
    await api.apply(
        kinds.NESTED_APP_JOB, {"metadata": {"name": "sent", "namespace": team}, "status": status}, subresource="status"
    )
    await exists(api, kueue.WORKLOAD, made["metadata"]["name"], team, has("Admitted", "True"))
    await kueue_operator.heard(api)
    unset = {"observedGeneration": -1}  # the definition's default, which the API server may have stored
    assert unset | (await api.get(kinds.NESTED_APP_JOB, "sent", team))["status"] == unset | status

    body = {
        "metadata": {"name": "beforehand", "namespace": team},
        "spec": {"queueName": "batch", "podSets": made["spec"]["podSets"]},
    }
    await api.apply(kueue.WORKLOAD, body)
    own = QUEUE | {labels.KUEUE_WORKLOAD: "beforehand"}
    job = await create(api, "remote", team, own)
    await exists(api, kueue.WORKLOAD, "beforehand", team, lambda found: found["metadata"].get("ownerReferences"))
    await job_with(api, "remote", team, conditions.ADMITTED, "True")
    await host_namespace(api, job)
    await create(api, "thief", team, own)
    found = await job_with(api, "thief", team, conditions.ADMITTED, "False", conditions.WORKLOAD_CONFLICT)
    assert message_of(found, conditions.ADMITTED).endswith("belongs to NestedAppJob 'remote'")


async def test_without_the_charts_leave_nothing_is_watched(kueue_plane: apiserver.ControlPlane, api: Api, team: str) -> None:
    async with operator_running(kueue_plane) as plain:
        await create(api, "plain", team)
        found = await job_with(api, "plain", team, conditions.ADMITTED, "False", conditions.KUEUE_UNAVAILABLE)
        assert message_of(found, conditions.ADMITTED).endswith("but Kueue is not enabled in the chart's values")
        await plain.heard(api)
        assert await api.list(kueue.WORKLOAD, team) == []
        assert "orkloads" not in plain.log.read_text()
        await api.delete(kinds.NESTED_APP_JOB, "plain", team)
        await gone(api, kinds.NESTED_APP_JOB, "plain", team)
