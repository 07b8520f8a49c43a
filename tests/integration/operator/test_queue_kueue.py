"""Kueue decides when jobs start. Its API is there, its scheduler is played by the tests: see `kueue.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver
from tests.integration.chart import install_roles
from tests.integration.operator import kueue
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.lifetime import change, create_app_pod, tell, until_stopped
from tests.integration.operator.world import Object, be_ready_server, build_class, build_job, host_namespace, message_of
from tests.waiting import exists, gone, has, job_with, wait_for, wait_for_any

pytestmark = pytest.mark.slow

POD_TEMPLATE = Kind("", "v1", "podtemplates", "PodTemplate")
KUEUE = {"NESTOR_KUEUE": "true"}
QUEUE = {labels.KUEUE_QUEUE: "batch"}
DEFAULTS = {"requests": {"cpu": "10m"}, "limits": {"memory": "16Mi"}}
TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
FLAVORS = {"gold": {"nodeLabels": {"pool": "gold"}, "tolerations": [TOLERATION]}, "plain": {"nodeLabels": {"pool": "plain"}}}


@pytest.fixture
async def kueue_operator(second_plane: apiserver.ControlPlane, lonely: Api) -> AsyncIterator[Operator]:
    """An operator that has Kueue."""
    await kueue.install(lonely)
    await install_roles(lonely, "--set", "kueue.enabled=true")
    for name, spec in FLAVORS.items():
        await lonely.apply(kinds.RESOURCE_FLAVOR, {"metadata": {"name": name}, "spec": spec})
    await lonely.apply(kinds.WORKLOAD_PRIORITY, {"metadata": {"name": "high"}, "value": 1000})
    async with operator_running(second_plane, more=KUEUE) as running:
        yield running


@pytest.fixture
async def team(lonely: Api) -> AsyncIterator[str]:
    """A user's namespace, whose jobs are gone afterwards, and a class of the same name that has Kueue decide."""
    name = "team-kueue"
    await lonely.apply(kinds.NAMESPACE, {"metadata": {"name": name}})
    await make_class(lonely, name)
    yield name
    for job in await lonely.list(kinds.NESTED_APP_JOB, name):
        await lonely.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], name)
        await gone(lonely, kinds.NESTED_APP_JOB, job["metadata"]["name"], name)
    for item in await lonely.list(kinds.WORKLOAD, name):
        await lonely.delete(kinds.WORKLOAD, item["metadata"]["name"], name)


async def make_class(api: Api, name: str, mode: str = "Require", **quota: str) -> None:
    """A class whose jobs have 4 CPUs, and 8 on a big machine."""
    body = build_class(name)
    machines = [{"name": "big", "quota": {"requests.cpu": "8"}}]
    placement = {"machines": machines, "tolerations": ["own"]}
    own = {"requests.cpu": "4", "limits.memory": "8Gi", "requests.nvidia.com/gpu": "1"} | quota
    body["spec"] |= {"queue": {"kueue": mode}, "namespace": {"quota": own, "defaultResources": DEFAULTS}, "placement": placement}
    await api.apply(kinds.NESTED_CLASS, body)


async def create(api: Api, name: str, team: str, own: Object | None = None, **spec: Any) -> Object:
    """A job with these labels, by default in the queue `batch`."""
    body = build_job(name, team, className=team, **spec)
    body["metadata"]["labels"] = QUEUE if own is None else own
    return await api.create(kinds.NESTED_APP_JOB, body)


async def workload_of(api: Api, job: Object) -> Object:
    """Await the job's Workload."""
    namespace, uid = job["metadata"]["namespace"], job["metadata"]["uid"]
    return await wait_for_any(api, kinds.WORKLOAD, namespace, lambda item: True, labels=f"{labels.KUEUE_JOB_UID}={uid}")


async def run(api: Api, name: str, team: str, **flavors: str) -> tuple[str, str]:
    """A job that Kueue has admitted and whose cluster works; its Workload's name and its own namespace."""
    job = await create(api, name, team)
    made = (await workload_of(api, job))["metadata"]["name"]
    await kueue.admit(api, made, team, **flavors)
    where = await host_namespace(api, job)
    await be_ready_server(api, name, where)
    await job_with(api, name, team, conditions.CLUSTER_READY, "True")
    return made, where


def is_told(name: str, status: str, reason: str | None = None) -> Any:
    """Whether a Workload has the condition."""
    return has(name, status, reason)


async def test_a_job_waits_for_kueue_and_runs_where_that_says(kueue_operator: Operator, lonely: Api, team: str) -> None:
    job = await create(lonely, "first", team, QUEUE | {labels.KUEUE_PRIORITY: "high"})
    made = await workload_of(lonely, job)
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("NestedAppJob", job["metadata"]["uid"], True)
    spec = made["spec"]
    assert (spec["queueName"], spec["priority"]) == ("batch", 1000)
    assert spec["priorityClassRef"] == {"group": kueue.GROUP, "kind": "WorkloadPriorityClass", "name": "high"}
    sets = {item["name"]: item for item in spec["podSets"]}
    assert [(name, item["count"]) for name, item in sets.items()] == [("control-plane", 1), ("runner", 1), ("app", 1)]
    app = sets["app"]["template"]["spec"]
    assert app["containers"][0]["resources"]["requests"] == {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}
    assert app["tolerations"] == [{"key": "own", "operator": "Exists"}]
    for item in sets.values():
        template = item["template"] | {"metadata": {"labels": {"app": item["name"]}}}
        body = {"metadata": {"name": item["name"], "namespace": team}}
        await lonely.create(POD_TEMPLATE, body | {"template": template}, strict=True)

    found = await job_with(lonely, "first", team, conditions.ADMITTED, "False", conditions.QUEUED)
    assert message_of(found, conditions.ADMITTED) == "it waits for Kueue in LocalQueue 'batch'"
    said = kueue.say("QuotaReserved", "False", "Pending", "insufficient unused quota for cpu, 2 more needed")
    await kueue.write(lonely, made["metadata"]["name"], team, said)

    def is_explained(item: Object | None) -> bool:
        return item is not None and message_of(item, conditions.ADMITTED).endswith(
            "'batch': insufficient unused quota for cpu, 2 more needed"
        )

    found = await wait_for(lonely, kinds.NESTED_APP_JOB, "first", team, is_explained) or {}
    assert found["status"]["queue"].keys() == {"since"}
    assert await lonely.list(kinds.NAMESPACE, labels=labels.selector(job_uid=job["metadata"]["uid"])) == []

    await kueue.admit(lonely, made["metadata"]["name"], team, app="gold", control_plane="plain")
    found = await job_with(lonely, "first", team, conditions.ADMITTED, "True")
    assert "queue" not in found["status"]
    where = await host_namespace(lonely, job)
    server = await exists(lonely, kinds.STATEFUL_SET, "first-k3s", where)
    assert server["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "plain"}

    def is_placed(item: Object | None) -> bool:
        placement = (((item or {}).get("status") or {}).get("policy") or {}).get("placement") or {}
        keys = [taint.partition("=")[0].partition(":")[0] for taint in placement.get("tolerations") or ()]
        return placement.get("nodeSelector") == {"pool": "gold"} and keys == ["own", "gpu"]

    await wait_for(lonely, kinds.NESTED_CLUSTER, "first", where, is_placed)
    recorded = (await job_with(lonely, "first", team, conditions.ADMITTED, "True"))["status"]
    assert recorded["reserved"] == {"requests.cpu": "4", "limits.memory": "8589934592", "requests.nvidia.com/gpu": "1"}
    await kueue_operator.heard(lonely)
    assert is_placed(await lonely.get(kinds.NESTED_CLUSTER, "first", where))

    before = (await lonely.get(kinds.RESOURCE_QUOTA, "nestor", where))["spec"]["hard"]["requests.cpu"]
    await change(lonely, "first", team, machine="big")
    await kueue_operator.heard(lonely)
    assert (await lonely.get(kinds.RESOURCE_QUOTA, "nestor", where))["spec"]["hard"]["requests.cpu"] == before
    assert (await lonely.get(kinds.WORKLOAD, made["metadata"]["name"], team))["spec"]["podSets"] == spec["podSets"]


async def test_an_evicted_job_stops_and_waits_again(kueue_operator: Operator, lonely: Api, team: str) -> None:
    name, where = await run(lonely, "second", team, app="gold")
    job = await lonely.get(kinds.NESTED_APP_JOB, "second", team)
    await create_app_pod(lonely, "web", where, job)
    await kueue.evict(lonely, name, team)
    await until_stopped(lonely, "second", where)
    found = await job_with(lonely, "second", team, conditions.ADMITTED, "False", conditions.QUEUED)
    assert "Preempted to accommodate" in message_of(found, conditions.ADMITTED)
    assert is_told("QuotaReserved", "True")(await lonely.get(kinds.WORKLOAD, name, team)), "its pods are there yet"

    await lonely.delete(kinds.POD, "web", where)
    await tell(lonely, "second", where, suspended=True)
    released = await wait_for(lonely, kinds.WORKLOAD, name, team, is_told("QuotaReserved", "False", "Pending")) or {}
    assert is_told("Requeued", "True", "Preempted")(released)
    assert is_told("Admitted", "False")(released)
    assert is_told("Evicted", "True", "Preempted")(released)
    assert "admission" not in released["status"]
    assert "startTime" not in (await lonely.get(kinds.NESTED_APP_JOB, "second", team))["status"]

    await kueue.admit(lonely, name, team, app="plain")
    await until_stopped(lonely, "second", where, is_stopped=False)
    found = await job_with(lonely, "second", team, conditions.ADMITTED, "True")
    assert found["status"]["assigned"]["nodeSelector"] == {"pool": "plain"}


async def test_kueue_is_told_how_a_job_is_and_that_it_has_ended(kueue_operator: Operator, lonely: Api, team: str) -> None:
    name, where = await run(lonely, "third", team)
    await wait_for(lonely, kinds.WORKLOAD, name, team, is_told("PodsReady", "False", "WaitForStart"))
    await change(lonely, "third", team, activeDeadlineSeconds=1)
    await job_with(lonely, "third", team, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)
    assert not is_told("Finished", "True")(await lonely.get(kinds.WORKLOAD, name, team)), "its pods may be there yet"
    await tell(lonely, "third", where, suspended=True)
    done = await wait_for(lonely, kinds.WORKLOAD, name, team, is_told("Finished", "True", "Failed"))
    assert "activeDeadlineSeconds" in message_of(done or {}, "Finished")


async def test_another_operator_finds_what_kueue_said(
    kueue_operator: Operator, second_plane: apiserver.ControlPlane, lonely: Api, team: str
) -> None:
    name, where = await run(lonely, "fifth", team)
    kueue_operator.kill()
    await kueue.evict(lonely, name, team)
    async with operator_running(second_plane, more=KUEUE):
        await until_stopped(lonely, "fifth", where)
        await tell(lonely, "fifth", where, suspended=True)
        await wait_for(lonely, kinds.WORKLOAD, name, team, is_told("QuotaReserved", "False"))
        await lonely.delete(kinds.NESTED_APP_JOB, "fifth", team)
        await wait_for(lonely, kinds.NESTED_APP_JOB, "fifth", team, lambda found: found is None)


async def test_multikueue_gets_a_workload_for_its_jobs_and_gives_one_to_others(
    kueue_operator: Operator, lonely: Api, team: str
) -> None:
    sent = await create(lonely, "sent", team, managedBy=labels.MULTIKUEUE)
    made = await workload_of(lonely, sent)
    status = {"url": "https://elsewhere.test", "kubernetesVersion": "v1.36.2+k3s1"}
    await lonely.apply(
        kinds.NESTED_APP_JOB, {"metadata": {"name": "sent", "namespace": team}, "status": status}, subresource="status"
    )
    await kueue.admit(lonely, made["metadata"]["name"], team)
    await kueue_operator.heard(lonely)
    assert (await lonely.get(kinds.NESTED_APP_JOB, "sent", team))["status"] == status

    body = {
        "metadata": {"name": "beforehand", "namespace": team},
        "spec": {"queueName": "batch", "podSets": made["spec"]["podSets"]},
    }
    await lonely.apply(kinds.WORKLOAD, body)
    own = QUEUE | {labels.KUEUE_WORKLOAD: "beforehand"}
    job = await create(lonely, "remote", team, own)
    await wait_for(
        lonely, kinds.WORKLOAD, "beforehand", team, lambda found: bool(found and found["metadata"].get("ownerReferences"))
    )
    await kueue.admit(lonely, "beforehand", team)
    await job_with(lonely, "remote", team, conditions.ADMITTED, "True")
    await host_namespace(lonely, job)
    await create(lonely, "thief", team, own)
    found = await job_with(lonely, "thief", team, conditions.ADMITTED, "False", conditions.WORKLOAD_CONFLICT)
    assert message_of(found, conditions.ADMITTED).endswith("belongs to NestedAppJob 'remote'")


async def test_without_the_charts_leave_nothing_is_watched(second_plane: apiserver.ControlPlane, lonely: Api, team: str) -> None:
    async with operator_running(second_plane) as plain:
        await create(lonely, "plain", team)
        found = await job_with(lonely, "plain", team, conditions.ADMITTED, "False", conditions.KUEUE_UNAVAILABLE)
        assert message_of(found, conditions.ADMITTED).endswith("but Kueue is not enabled in the chart's values")
        await plain.heard(lonely)
        assert await lonely.list(kinds.WORKLOAD, team) == []
        assert "orkloads" not in plain.log.read_text()
        await lonely.delete(kinds.NESTED_APP_JOB, "plain", team)
        await gone(lonely, kinds.NESTED_APP_JOB, "plain", team)
