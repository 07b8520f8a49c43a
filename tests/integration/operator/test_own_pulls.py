"""Nestor's image in a private registry: which pods pull it with which credentials."""

import base64
import json

import pytest

from nestor.api import conditions
from nestor.api.names import OWN_PULL_SECRET, POOLED, server_pod
from nestor.cluster.pulls import read_auths
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import operator_running
from tests.integration.operator.test_pool import fill
from tests.integration.operator.world import build_job, host_namespace, runner_of
from tests.waiting import exists, gone, job_with

PULLS = [{"name": OWN_PULL_SECRET}]


@pytest.mark.slow
async def test_our_pods_have_what_our_images_need_and_no_more(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    """The app image is in a registry to which the same Secret gives access."""
    auths = {"nestor.test": {"auth": "b3du"}, "registry.test": {"auth": "YXBw"}}
    data = {".dockerconfigjson": base64.b64encode(json.dumps({"auths": auths}).encode()).decode()}
    house = {"name": "house", "namespace": "nestor-system"}
    await lonely.apply(kinds.SECRET, {"metadata": house, "type": "kubernetes.io/dockerconfigjson", "data": data})
    await lonely.apply(kinds.NAMESPACE, {"metadata": {"name": "pulling"}})

    async def check(pod: str, where: str) -> None:
        assert (await exists(lonely, kinds.POD, pod, where))["spec"]["imagePullSecrets"] == PULLS
        copy = await lonely.get(kinds.SECRET, OWN_PULL_SECRET, where)
        assert read_auths(copy) == {"nestor.test/nestor": auths["nestor.test"]}

    async with operator_running(second_plane, more={"NESTOR_IMAGE_PULL_SECRETS": "house"}):
        (member,) = await fill(lonely, "pulling", 1)
        await check(server_pod(POOLED), member["namespace"])
        await lonely.delete(kinds.NESTED_CLASS, "pulling")
        jobs = [build_job(name, "pulling") for name in ("hello", "read")]
        del jobs[1]["spec"]["app"]["appDef"]
        made = [await lonely.create(kinds.NESTED_APP_JOB, job) for job in jobs]
        await job_with(lonely, "hello", "pulling", conditions.ADMITTED, "True")
        where, reading = [await host_namespace(lonely, job) for job in made]
        await runner_of(lonely, "hello", where)
        for pod, inside in ((server_pod("hello"), where), ("hello-run", where), ("read-reader", reading)):
            await check(pod, inside)
        for job in made:
            await lonely.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], "pulling")
            await gone(lonely, kinds.NESTED_APP_JOB, job["metadata"]["name"], "pulling")
