"""A job's life against a real API server: from apply to Ready, and to the last object gone."""

from typing import Any

from nestor.api import conditions
from nestor.cluster.shape import Host
from nestor.kube import Api, kinds
from nestor.operator.settings import Settings
from nestor.operator.status.report import write_first
from nestor.operator.world.context import Cache, Context
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import another_plan
from tests.integration.operator.world import (
    TOUCHED,
    Object,
    be_ready_server,
    be_target,
    build_job,
    host_namespace,
    message_of,
    run_of,
    runner_of,
)
from tests.waiting import another, exists, job_with, wait_for, wait_for_any

EXPECTED = {
    kinds.NESTED_CLUSTER: ["hello"],
    kinds.STATEFUL_SET: ["hello-k3s"],
    kinds.SERVICE: ["hello-dns", "hello-k3s"],
    kinds.CONFIG_MAP: ["hello-coredns", "kube-root-ca.crt"],
    kinds.SECRET: ["hello-access", "hello-pki", "hello-plan"],
    kinds.SERVICE_ACCOUNT: ["default", "hello-syncer"],
    kinds.ROLE_BINDING: ["hello-syncer"],
    kinds.NETWORK_POLICY: ["hello-app", "hello-app-in", "hello-app-out", "hello-deny", "hello-runner", "hello-server"],
    kinds.INGRESS: ["hello"],
    kinds.POD: ["hello-k3s-0", "hello-run"],
}

BY_CONTROLLERS = {"default", "kube-root-ca.crt", "hello-k3s-0", "hello-run"}
"""What the host's controllers create, and the runner, which needs the namespace's service account."""


async def await_controllers(api: Api, where: str) -> None:
    """What others make is there: each comes when its controller gets to it."""
    for kind, expected in EXPECTED.items():
        for name in BY_CONTROLLERS.intersection(expected):
            await exists(api, kind, name, where)


async def test_a_job_is_admitted_after_everything_is_created(operator: Operator, api: Api, namespace: str) -> None:
    """One pass creates it all but the runner: it waits for no pod, no other pass and no status of its own."""
    made = await api.create(kinds.NESTED_APP_JOB, build_job("hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    where = job["status"]["namespace"]
    for kind, expected in EXPECTED.items():
        found = {item["metadata"]["name"] for item in await api.list(kind, where)}
        assert found | BY_CONTROLLERS == {*expected} | BY_CONTROLLERS, kind.name
    assert await api.find(kinds.SECRET, "hello-kubeconfig", namespace)
    assert await api.find(kinds.CLUSTER_ROLE_BINDING, where)
    await runner_of(api, "hello", where)
    await await_controllers(api, where)
    for kind, expected in EXPECTED.items():
        assert sorted(item["metadata"]["name"] for item in await api.list(kind, where)) == expected, kind.name

    # What is said of jobs that wait takes back nothing that is known since.
    context = Context.create(api, Settings(image="x"), Cache(api), Host(()))
    await write_first(context, made)
    job = await api.get(kinds.NESTED_APP_JOB, "hello", namespace)
    assert conditions.is_true(job["status"]["conditions"], conditions.ADMITTED)
    assert context.cache.jobs.get("hello", namespace) is None


async def test_a_job_becomes_ready_step_by_step_and_says_so(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("hello", namespace))
    where = await host_namespace(api, job)
    job = await job_with(api, "hello", namespace, conditions.STEPS_APPLIED, "False", conditions.WAITING_FOR_CLUSTER)
    assert [step["state"] for step in job["status"]["steps"]] == ["Pending"]

    await be_ready_server(api, "hello", where)
    job = await job_with(api, "hello", namespace, conditions.CLUSTER_READY, "True")
    assert job["status"]["kubernetesVersion"] == "v1.36.2+k3s1"
    await job_with(api, "hello", namespace, conditions.STEPS_APPLIED, "False", conditions.RUNNER_STARTING)

    run = await run_of(api, "hello", where, "Running", state="Retrying", message="no route")
    await be_ready_server(api, "hello", where, run=run)
    job = await job_with(api, "hello", namespace, conditions.STEPS_APPLIED, "False", conditions.STEP_RETRYING)
    assert "step 1 of 1 'hello'" in message_of(job, conditions.STEPS_APPLIED)
    assert "no route" in message_of(job, conditions.STEPS_APPLIED)

    await be_ready_server(api, "hello", where, run=await run_of(api, "hello", where, "Succeeded"))
    await job_with(api, "hello", namespace, conditions.STEPS_APPLIED, "True")
    await be_target(api, where, job, is_ready=False)
    await job_with(api, "hello", namespace, conditions.EXPOSED, "False", conditions.NO_READY_ENDPOINT)
    await be_target(api, where, job)
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert job["status"]["url"] == f"http://hello-{namespace}.jobs.test:8080/"
    assert set(job["status"]["timings"]) == {"admitted", "clusterReady", "stepsApplied", "exposed", "ready"}
    await wait_for_any(api, kinds.EVENT, namespace, lambda event: event["reason"] == "JobReady")
    reasons = {event["reason"] for event in await api.list(kinds.EVENT, namespace)}
    assert {"JobAdmitted", "ClusterProvisioned", "StepsApplied", "JobExposed", "JobReady"} <= reasons


async def test_a_settled_job_costs_nothing_until_others_change_what_is_its(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("calm", namespace))
    where = await host_namespace(api, job)
    await job_with(api, "calm", namespace, conditions.ADMITTED, "True")
    await runner_of(api, "calm", where)
    await wait_for(api, kinds.STATEFUL_SET, "calm-k3s", where, has_its_pods)
    await operator.heard(api)
    before = await versions(api, where)
    await api.patch(kinds.NESTED_APP_JOB, "calm", namespace, TOUCHED)
    await operator.heard(api)
    assert await versions(api, where) == before, "nothing is written again"

    await api.delete(kinds.INGRESS, "calm", where)
    await api.patch(kinds.SERVICE, "calm-dns", where, {"spec": {"publishNotReadyAddresses": False}})
    await exists(api, kinds.INGRESS, "calm", where)
    await exists(api, kinds.SERVICE, "calm-dns", where, lambda found: found["spec"].get("publishNotReadyAddresses"))


def has_its_pods(found: Object | None) -> bool:
    """The controller of StatefulSets has nothing more to do or to say."""
    status = (found or {}).get("status", {})
    return bool(found and status.get("replicas") == 1 and status.get("observedGeneration") == found["metadata"]["generation"])


async def versions(api: Api, namespace: str) -> dict[str, Any]:
    """Resource versions of everything in a namespace."""
    found = {}
    for kind in EXPECTED:
        for item in await api.list(kind, namespace):
            found[f"{kind.name} {item['metadata']['name']}"] = item["metadata"]["resourceVersion"]
    return found


async def test_a_deleted_namespace_comes_back_with_everything_in_it(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("hello", namespace))
    where = await host_namespace(api, job)
    await runner_of(api, "hello", where)
    before = await api.get(kinds.NAMESPACE, where)
    await api.delete(kinds.NAMESPACE, where)
    for pod in ("hello-k3s-0", "hello-run"):
        await api.delete(kinds.POD, pod, where, grace_seconds=0)
    await another(api, kinds.NAMESPACE, where, "", than=before)
    await runner_of(api, "hello", where)
    await await_controllers(api, where)
    for kind, expected in EXPECTED.items():
        assert sorted(item["metadata"]["name"] for item in await api.list(kind, where)) == expected, kind.name
    assert await api.find(kinds.CLUSTER_ROLE_BINDING, where)


async def test_a_lost_server_makes_a_new_plan_and_a_new_runner(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("lost", namespace))
    where = await host_namespace(api, job)
    await be_ready_server(api, "lost", where)
    first = await run_of(api, "lost", where, "Succeeded")
    await be_ready_server(api, "lost", where, run=first)
    await job_with(api, "lost", namespace, conditions.STEPS_APPLIED, "True")
    await operator.heard(api)
    await api.delete(kinds.POD, "lost-k3s-0", where, grace_seconds=0)
    await another_plan(api, "lost", where, first["hash"])
    await job_with(api, "lost", namespace, conditions.STEPS_APPLIED, "False")
