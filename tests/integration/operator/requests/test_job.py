"""A job of templates in a ConfigMap, through its whole life."""

import base64
from typing import Any

import pytest

from nestor.api import conditions
from nestor.kube import kinds
from tests.integration.operator.lifetime import (
    another_plan,
    change,
    create_app_pod,
    job_saying,
    rerun,
    tell,
    until_replicas,
    until_stopped,
    until_told,
)
from tests.integration.operator.requests.conftest import Stage
from tests.integration.operator.world import (
    Object,
    be_ready_server,
    be_target,
    build_job,
    ended,
    host_namespace,
    plan_hash,
    run_of,
    runner_of,
    set_pod_status,
)
from tests.waiting import exists, gone, job_with, wait_for, wait_for_none

pytestmark = pytest.mark.slow

SPACE = "requests-job"
FILES = {"hello.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\n"}


async def test_requests(stage: Stage) -> None:
    api = stage.api
    await stage.set_up()
    await api.apply(kinds.CONFIG_MAP, {"metadata": {"name": "files", "namespace": SPACE}, "data": FILES})
    job = build_job("hello", SPACE, className=SPACE)
    job["spec"]["app"] = {"templatesFrom": {"configMapRef": {"name": "files"}}, "appDef": job["spec"]["app"]["appDef"]}
    async with stage.step("a job is created: everything is made"):
        job = await api.create(kinds.NESTED_APP_JOB, job)
        where = await host_namespace(api, job)
        await exists(api, kinds.POD, "hello-k3s-0", where)
        await job_saying(api, "hello", SPACE, conditions.CLUSTER_READY, "pod 'hello-k3s-0' is starting")
    await _start(stage, job, where)
    await _changes(stage, job, where)
    await _rest(stage, job, where)
    async with stage.step("it is run again"):
        before = await plan_hash(api, "hello", where)
        await rerun(api, "hello", SPACE, "1")
        await another_plan(api, "hello", where, before)
        await until_told(api, SPACE, "Rerun")
        await job_with(api, "hello", SPACE, conditions.STEPS_APPLIED, "False", conditions.RUNNER_STARTING)
    async with stage.step("it is deleted"):
        await api.delete(kinds.NESTED_APP_JOB, "hello", SPACE)
        await gone(api, kinds.NESTED_APP_JOB, "hello", SPACE)
        await wait_for_none(api, kinds.NAMESPACE, "", labels=f"nestor.dev/job-uid={job['metadata']['uid']}")
    stage.check()


async def _start(stage: Stage, job: Object, where: str) -> None:
    """The test plays syncer, runner and kubelet until the job is Ready."""
    api = stage.api
    async with stage.step("its cluster is ready"):
        await be_ready_server(api, "hello", where)
        await runner_of(api, "hello", where)
        await job_with(api, "hello", SPACE, conditions.STEPS_APPLIED, "False", conditions.RUNNER_STARTING)
    async with stage.step("its step is tried again"):
        await tell(api, "hello", where, run=await run_of(api, "hello", where, "Running", state="Retrying", message="no route"))
        await job_with(api, "hello", SPACE, conditions.STEPS_APPLIED, "False", conditions.STEP_RETRYING)
    async with stage.step("its steps are applied"):
        await tell(api, "hello", where, run=await run_of(api, "hello", where, "Succeeded"))
        await job_with(api, "hello", SPACE, conditions.READY, "False", conditions.TARGET_NOT_FOUND)
    async with stage.step("the runner ends"):
        await set_pod_status(api, "hello-run", where, ended("runner", 0, "Completed"))
        await stage.recorder.settle()
    async with stage.step("its target is there, without endpoints"):
        await be_target(api, where, job, is_ready=False)
        await job_with(api, "hello", SPACE, conditions.EXPOSED, "False", conditions.NO_READY_ENDPOINT)
    async with stage.step("its target is ready"):
        await be_target(api, where, job)
        await job_with(api, "hello", SPACE, conditions.READY, "True")
        await until_told(api, SPACE, "JobReady")


async def _changes(stage: Stage, job: Object, where: str) -> None:
    """By users, admins and others."""
    api = stage.api
    async with stage.step("a label of the job is changed: nothing"):
        await api.patch(kinds.NESTED_APP_JOB, "hello", SPACE, {"metadata": {"labels": {"touched": "yes"}}})
        await stage.recorder.settle()
    async with stage.step("others change a Service and delete the Ingress"):
        await api.delete(kinds.INGRESS, "hello", where)
        await api.patch(kinds.SERVICE, "hello-dns", where, {"spec": {"publishNotReadyAddresses": False}})
        await exists(api, kinds.INGRESS, "hello", where)
        await exists(api, kinds.SERVICE, "hello-dns", where, _publishes)
        await job_with(api, "hello", SPACE, conditions.READY, "True")
    async with stage.step("its class changes: quota, default resources, network, security, exposure"):
        body = stage.build_class(quota={"pods": "20"}, podSecurity="Privileged")
        del body["spec"]["namespace"]["defaultResources"]
        body["spec"]["network"] = {"internet": "None"}
        body["spec"]["cluster"] = {"resources": {"requests": {"cpu": "300m", "memory": "700Mi"}}}
        body["spec"]["expose"] |= {"annotations": {"example.org/timeout": "60"}, "port": 80}
        await api.apply(kinds.NESTED_CLASS, body)
        await exists(
            api, kinds.INGRESS, "hello", where, lambda found: found["metadata"].get("annotations", {}).get("example.org/timeout")
        )
        await wait_for(api, kinds.STATEFUL_SET, "hello-k3s", where, lambda found: "700Mi" in str(found))
        await job_saying(api, "hello", SPACE, conditions.READY, "http://hello-requests-job.jobs.test/")
    async with stage.step("the class serves TLS, and the Secret is there"):
        await api.apply(kinds.NAMESPACE, {"metadata": {"name": "nestor-system"}})
        data = {key: base64.b64encode(b"x").decode() for key in ("tls.crt", "tls.key")}
        meta = {"name": SPACE, "namespace": "nestor-system"}
        await api.apply(kinds.SECRET, {"metadata": meta, "type": "kubernetes.io/tls", "data": data})
        body["spec"]["expose"] |= {"tlsSecretName": SPACE, "port": 8443}
        await api.apply(kinds.NESTED_CLASS, body)
        await exists(api, kinds.INGRESS, "hello", where, lambda found: found["spec"].get("tls"))
        await job_saying(api, "hello", SPACE, conditions.READY, "https://hello-requests-job.jobs.test:8443/")


def _publishes(service: Object) -> Any:
    return service["spec"].get("publishNotReadyAddresses")


async def _rest(stage: Stage, job: Object, where: str) -> None:
    """It is suspended, and goes on."""
    api = stage.api
    await create_app_pod(api, "web", where, job)
    async with stage.step("it is suspended"):
        await change(api, "hello", SPACE, suspend=True)
        await until_stopped(api, "hello", where)
        await until_told(api, SPACE, "Suspended")
        await job_saying(api, "hello", SPACE, conditions.READY, "1 left")
    async with stage.step("its pods have ended"):
        await api.delete(kinds.POD, "web", where)
        await tell(api, "hello", where, suspended=True, pods={"running": 0, "waiting": 1})
        await job_saying(api, "hello", SPACE, conditions.READY, "its control plane keeps running")
        await stage.recorder.settle()
        await until_replicas(api, "hello", where, 1)
    async with stage.step("it is resumed"):
        await change(api, "hello", SPACE, suspend=False)
        await until_stopped(api, "hello", where, is_stopped=False)
        await until_told(api, SPACE, "Resumed")
        await job_saying(api, "hello", SPACE, conditions.READY, "its pods are starting again")
    async with stage.step("its pods run"):
        await tell(api, "hello", where, suspended=False, pods={"running": 1, "waiting": 0})
        await job_with(api, "hello", SPACE, conditions.READY, "True")
        await stage.recorder.settle()
