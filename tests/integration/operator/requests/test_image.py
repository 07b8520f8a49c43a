"""Jobs of an image: one that holds its own AppDef, which is read first; one with a volume, which is suspended; a refused one."""

import base64
import json
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.kube import kinds
from tests.integration.operator import kubelet
from tests.integration.operator.lifetime import PERSISTENCE, change, job_saying, tell, until_replicas, until_stopped
from tests.integration.operator.requests.conftest import Stage
from tests.integration.operator.test_sources import READER, build_appdef
from tests.integration.operator.world import (
    READY_POD,
    Object,
    be_ready_server,
    build_job,
    ended,
    host_namespace,
    runner_of,
    set_pod_status,
)
from tests.waiting import exists, gone, job_with, wait_for_none

pytestmark = pytest.mark.slow

SPACE = "requests-image"
IMAGE = "registry.test/hello:1"


async def test_requests(stage: Stage, tmp_path: Path) -> None:
    await stage.set_up()
    await _read(stage, tmp_path)
    await _with_a_volume(stage)
    await _refused(stage)
    stage.check()


async def _delete(stage: Stage, job: Object) -> None:
    name = job["metadata"]["name"]
    await stage.api.delete(kinds.NESTED_APP_JOB, name, SPACE)
    await gone(stage.api, kinds.NESTED_APP_JOB, name, SPACE)
    await wait_for_none(stage.api, kinds.NAMESPACE, "", labels=f"nestor.dev/job-uid={job['metadata']['uid']}")


async def _read(stage: Stage, folder: Path) -> None:
    api = stage.api
    docker = {".dockerconfigjson": base64.b64encode(b'{"auths": {}}').decode()}
    secret = {"metadata": {"name": "registry", "namespace": SPACE}, "type": "kubernetes.io/dockerconfigjson", "data": docker}
    await api.apply(kinds.SECRET, secret)
    spec = {"app": {"image": IMAGE, "imagePullSecretName": "registry"}, "className": SPACE}
    body = build_job("hello", SPACE) | {"spec": spec}
    async with kubelet.running(api, folder) as logs:
        async with stage.step("a job of an image with its own AppDef is created: it is read first"):
            job = await api.create(kinds.NESTED_APP_JOB, body)
            where = await host_namespace(api, job)
            await exists(api, kinds.POD, READER, where)
            await job_with(api, "hello", SPACE, conditions.ADMITTED, "Unknown", conditions.READING_APPDEF)
        logs.printed[where, READER] = json.dumps(build_appdef()).encode()
        await kubelet.bind(api, READER, where)
        async with stage.step("it is read, and everything is made"):
            await set_pod_status(api, READER, where, ended("reader", 0, "Completed"))
            await exists(api, kinds.POD, "hello-k3s-0", where)
            await gone(api, kinds.POD, READER, where)
            await job_saying(api, "hello", SPACE, conditions.CLUSTER_READY, "pod 'hello-k3s-0' is starting")
            await runner_of(api, "hello", where)
    async with stage.step("it is deleted"):
        await _delete(stage, job)


async def _with_a_volume(stage: Stage) -> None:
    api = stage.api
    body = stage.build_class()
    body["spec"]["cluster"] = {"persistence": PERSISTENCE}
    await api.apply(kinds.NESTED_CLASS, body)
    async with stage.step("a job of an image, with a volume, is created"):
        job = await api.create(kinds.NESTED_APP_JOB, build_job("kept", SPACE, className=SPACE))
        where = await host_namespace(api, job)
        await exists(api, kinds.POD, "kept-k3s-0", where)
        await job_saying(api, "kept", SPACE, conditions.CLUSTER_READY, "pod 'kept-k3s-0' is starting")
        await runner_of(api, "kept", where)
    await be_ready_server(api, "kept", where)
    async with stage.step("it is suspended"):
        await change(api, "kept", SPACE, suspend=True)
        await until_stopped(api, "kept", where)
        await job_saying(api, "kept", SPACE, conditions.READY, "its pods are being stopped")
    async with stage.step("it is at rest"):
        await tell(api, "kept", where, suspended=True)
        await until_replicas(api, "kept", where, 0)
        await gone(api, kinds.POD, "kept-k3s-0", where)
        await job_saying(api, "kept", SPACE, conditions.READY, "its pods and its control plane are stopped")
    async with stage.step("it is resumed"):
        await change(api, "kept", SPACE, suspend=False)
        await until_replicas(api, "kept", where, 1)
        await job_saying(api, "kept", SPACE, conditions.CLUSTER_READY, "pod 'kept-k3s-0' is starting")
    async with stage.step("its server is back"):
        await set_pod_status(api, "kept-k3s-0", where, READY_POD)
        await tell(api, "kept", where, suspended=False)
        await job_with(api, "kept", SPACE, conditions.STEPS_APPLIED, "False", conditions.RUNNER_STARTING)
    await _delete(stage, job)


async def _refused(stage: Stage) -> None:
    api = stage.api
    async with stage.step("a job without its class is refused"):
        job = await api.create(kinds.NESTED_APP_JOB, build_job("refused", SPACE, className="none"))
        await job_with(api, "refused", SPACE, conditions.ADMITTED, "False")
    async with stage.step("it is deleted again"):
        await _delete(stage, job)
