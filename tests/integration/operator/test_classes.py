"""Which class a job has, and what classes limit: deadlines, images, machines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor import names, times
from nestor.api import conditions, labels
from nestor.kube import Api, Forbidden, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import rerun, start
from tests.integration.operator.world import Object, build_class, build_job, host_namespace, message_of
from tests.waiting import eventually, job_with, wait_for

MARK = {labels.DEFAULT_CLASS: "true"}


@pytest.fixture
async def make(api: Api, namespace: str) -> AsyncIterator[Any]:
    """Makes a class for one test; returns its name."""
    name = f"class-{namespace}"

    async def apply(annotations: Object | None = None, **spec: Any) -> str:
        body = build_class(name)
        body["metadata"]["annotations"] = annotations or {}
        body["spec"] |= spec
        await api.apply(kinds.NESTED_CLASS, body)
        return name

    yield apply
    await api.delete(kinds.NESTED_CLASS, name)


async def unmark(operator: Operator, api: Api, make: Any) -> None:
    """The class is no default any more, and the operator knows it before any other test."""
    await make()
    await operator.heard(api)


async def test_a_job_that_names_no_class_gets_the_default_one_and_keeps_it(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    before = await api.create(kinds.NESTED_APP_JOB, build_job("before", namespace))
    assert "className" not in before["spec"]
    before = await job_with(api, "before", namespace, conditions.ADMITTED, "True")
    assert before["status"]["className"] == "default"
    name = await make(MARK, maxActiveDeadlineSeconds=86400)
    try:
        await operator.heard(api)
        job = await api.create(kinds.NESTED_APP_JOB, build_job("marked", namespace))
        marked = await job_with(api, "marked", namespace, conditions.ADMITTED, "True")
        assert marked["status"]["className"] == name
        where = await host_namespace(api, job)
        cluster = await wait_for(api, kinds.NESTED_CLUSTER, "marked", where, bool)
        assert cluster is not None
        assert cluster["spec"]["className"] == name
    finally:
        await unmark(operator, api, make)
    await operator.heard(api)
    for job_name, class_name in (("before", "default"), ("marked", name)):
        found = await api.get(kinds.NESTED_APP_JOB, job_name, namespace)
        assert found["status"]["className"] == class_name
        assert conditions.is_true(found["status"]["conditions"], conditions.ADMITTED)
    for other in ("default", name):
        with pytest.raises(Invalid, match="`className` may not be added or removed"):
            await api.patch(kinds.NESTED_APP_JOB, "marked", namespace, {"spec": {"className": other}})


async def test_a_refused_job_has_no_class_yet(operator: Operator, api: Api, namespace: str, make: Any) -> None:
    await make(MARK | {labels.DEFAULT_CLASS: "false"})
    await api.create(kinds.NESTED_APP_JOB, build_job("none", namespace, className=f"no-{namespace}"))
    refused = await job_with(api, "none", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)
    assert "className" not in refused["status"]


async def test_a_class_that_not_everybody_may_use_is_given_to_nobody(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    name = f"class-{namespace}"
    early = await api.create(kinds.NESTED_APP_JOB, build_job("early", namespace, className=name))
    await job_with(api, "early", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)
    await make(MARK, access="Permitted")
    try:
        refused = await job_with(api, "early", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_PERMITTED)
        assert "is not older than this object, so your permission was not checked" in message_of(refused, conditions.ADMITTED)
        await api.create(kinds.NESTED_APP_JOB, build_job("unnamed", namespace))
        refused = await job_with(api, "unnamed", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_PERMITTED)
        assert f"create it again with `className: {name}`" in message_of(refused, conditions.ADMITTED)
    finally:
        await make(access="Everyone")
    await job_with(api, "early", namespace, conditions.ADMITTED, "True")
    await job_with(api, "unnamed", namespace, conditions.ADMITTED, "True")
    await make(access="Permitted")
    await operator.heard(api)
    # What was admitted goes on.
    await job_with(api, "early", namespace, conditions.ADMITTED, "True")
    assert early["metadata"]["uid"]


async def test_an_app_image_is_refused_before_anything_is_made_of_it(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    name = await make(images={"allowed": ["docker.io/library", "ghcr.io/team-a"]})
    spec: Object = {"app": {"image": "registry.test/hello:1"}, "className": name}
    await api.create(kinds.NESTED_APP_JOB, build_job("outside", namespace, **spec))
    refused = await job_with(api, "outside", namespace, conditions.ADMITTED, "False", conditions.IMAGE_NOT_ALLOWED)
    assert message_of(refused, conditions.ADMITTED) == (
        "image 'registry.test/hello:1': app image 'registry.test/hello:1' is not allowed; allowed: docker.io/library, "
        f"ghcr.io/team-a (`images.allowed`) (class '{name}')"
    )
    assert "namespace" not in refused["status"]
    await make(images={"allowed": ["registry.test"]})
    job = await api.create(kinds.NESTED_APP_JOB, build_job("inside", namespace, className=name))
    await job_with(api, "inside", namespace, conditions.ADMITTED, "True")
    where = await host_namespace(api, job)

    def has_list(found: Object | None) -> bool:
        policy = ((found or {}).get("status") or {}).get("policy") or {}
        return bool(policy.get("allowedImages") == ["registry.test"])

    await wait_for(api, kinds.NESTED_CLUSTER, "inside", where, has_list)


async def test_a_job_gets_the_deadline_and_the_machine_that_it_may_have(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    machines = [{"name": "n4"}, {"name": "gpu-1", "nodeSelector": {"pool": "gpu"}, "quota": {"pods": "7"}}]
    name = await make(maxActiveDeadlineSeconds=3600, placement={"machines": machines, "defaultMachine": "n4"})
    await api.create(kinds.NESTED_APP_JOB, build_job("long", namespace, className=name, activeDeadlineSeconds=3601))
    refused = await job_with(api, "long", namespace, conditions.ADMITTED, "False", conditions.DEADLINE_NOT_ALLOWED)
    assert "at most 3600 is allowed" in message_of(refused, conditions.ADMITTED)
    await api.patch(kinds.NESTED_APP_JOB, "long", namespace, {"spec": {"activeDeadlineSeconds": 3600}})
    long = await job_with(api, "long", namespace, conditions.ADMITTED, "True")
    assert long["status"]["machine"] == "n4"
    body = build_job("gpu", namespace, className=name)
    body["spec"]["app"]["appDef"]["machines"] = ["gpu*"]
    job = await api.create(kinds.NESTED_APP_JOB, body)
    where = await host_namespace(api, job)
    quota = await wait_for(api, kinds.RESOURCE_QUOTA, "nestor", where, bool)
    assert quota is not None
    assert quota["spec"]["hard"]["pods"] == "9"
    found = await job_with(api, "gpu", namespace, conditions.ADMITTED, "True")
    assert found["status"]["machine"] == "gpu-1"
    cluster = await api.get(kinds.NESTED_CLUSTER, "gpu", where)
    assert cluster["status"]["policy"]["placement"]["nodeSelector"] == {"pool": "gpu"}
    body["spec"] |= {"machine": "n4"}
    await api.create(kinds.NESTED_APP_JOB, body | {"metadata": {"name": "wrong", "namespace": namespace}})
    refused = await job_with(api, "wrong", namespace, conditions.ADMITTED, "False", conditions.MACHINE_NOT_FOUND)
    assert "machine 'n4' does not suit the application, whose AppDef takes 'gpu*'" in message_of(refused, conditions.ADMITTED)
    # The AppDef's wish stays while the job is refused for something else.
    await api.patch(kinds.NESTED_APP_JOB, "gpu", namespace, {"spec": {"activeDeadlineSeconds": 3601}})
    await job_with(api, "gpu", namespace, conditions.ADMITTED, "False", conditions.DEADLINE_NOT_ALLOWED)
    await operator.heard(api)
    quota = await api.get(kinds.RESOURCE_QUOTA, "nestor", where)
    assert quota["spec"]["hard"]["pods"] == "9"
    cluster = await api.get(kinds.NESTED_CLUSTER, "gpu", where)
    assert cluster["status"]["policy"]["placement"]["nodeSelector"] == {"pool": "gpu"}


async def test_no_container_has_more_than_its_class_allows_and_the_cluster_starts_all_the_same(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    machine = {"name": "small", "size": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 1}}
    name = await make(
        namespace={"maxResources": {"cpu": 1, "memory": "3Gi"}}, placement={"machines": [machine], "defaultMachine": "small"}
    )
    job = await api.create(kinds.NESTED_APP_JOB, build_job("bound", namespace, className=name))
    where = await host_namespace(api, job)
    for pod in ("bound-k3s-0", "bound-run"):
        await wait_for(api, kinds.POD, pod, where, lambda found: found is not None)
    (limit,) = (await api.get(kinds.LIMIT_RANGE, "nestor", where))["spec"]["limits"]
    assert limit["max"] == {"cpu": "2", "memory": "3Gi"}
    quota = await wait_for(api, kinds.RESOURCE_QUOTA, "nestor", where, lambda found: bool(found and found.get("status")))
    assert quota is not None
    assert quota["spec"]["hard"]["requests.nvidia.com/gpu"] == "1"
    assert quota["spec"]["hard"]["requests.cpu"] == "4320m"

    def build_pod(name: str, **limits: str) -> Object:
        container: Object = {"name": "c", "image": "x", "resources": {"limits": limits} if limits else {}}
        return {"metadata": {"name": name, "namespace": where}, "spec": {"containers": [container]}}

    made = await api.create(kinds.POD, build_pod("plain"))
    resources = made["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "1", "memory": "3Gi", "ephemeral-storage": "10Gi"}
    assert resources["requests"] == {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "0"}
    with pytest.raises(Forbidden, match="maximum cpu usage per Container is 2"):
        await api.create(kinds.POD, build_pod("greedy", cpu="3"))
    with pytest.raises(Forbidden, match="exceeded quota"):
        await api.create(kinds.POD, build_pod("graphic", **{"nvidia.com/gpu": "2"}))


async def test_a_rerun_of_a_running_job_gives_it_none_of_its_classs_time_back(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    name = await make(maxActiveDeadlineSeconds=3600)
    job, _ = await start(api, "twice", namespace, className=name)
    assert job["status"]["activeDeadlineSeconds"] == 3600

    async def has_run() -> bool:
        return bool(times.timestamp() > job["status"]["startTime"])

    await eventually(has_run)
    await rerun(api, "twice", namespace, "2")

    def runs_again(found: Object | None) -> bool:
        return bool(found and found["status"].get("rerun") == "2")

    again = await wait_for(api, kinds.NESTED_APP_JOB, "twice", namespace, runs_again)
    assert again is not None
    status = again["status"]
    assert status["startTime"] > job["status"]["startTime"]
    assert status["ranSeconds"] > 0
    assert status["activeDeadlineSeconds"] == 3600 - status["ranSeconds"]


async def test_a_class_limits_no_extended_resource_for_each_container(api: Api, namespace: str, make: Any) -> None:
    # The most that a container may have is also its default: every container would get a GPU, those of the cluster included.
    with pytest.raises(Invalid, match="must be limits of cpu, memory, ephemeral-storage"):
        await make(namespace={"maxResources": {"cpu": 1, "nvidia.com/gpu": 1}})


@pytest.mark.parametrize("part", ["requests", "limits"])
async def test_a_class_gives_no_container_an_extended_resource_by_default(api: Api, namespace: str, make: Any, part: str) -> None:
    # Defaults are for all pods of a job's namespace: K3s itself would ask for a GPU.
    defaults = {"defaultResources": {part: {"cpu": "10m", "nvidia.com/gpu": 1}}}
    with pytest.raises(Invalid, match=f"defaultResources.{part}.*must be {part} of cpu, memory, ephemeral-storage"):
        await make(namespace=defaults)
    with pytest.raises(Invalid, match=f"defaultResources.{part}.*must be {part} of cpu, memory, ephemeral-storage"):
        await make(placement={"machines": [{"name": "gpu"} | defaults]})


async def test_the_classs_secrets_for_images_are_for_all_pods_of_its_jobs(
    operator: Operator, api: Api, namespace: str, make: Any
) -> None:
    house, copy = f"house-{namespace}", names.operators_pull_secret(f"house-{namespace}")
    name = await make(images={"pullSecretNames": [house]})
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": "nestor-system"}})
    secret = {
        "metadata": {"name": house, "namespace": "nestor-system"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths": {"registry.test": {}}}'},
    }
    made = await api.apply(kinds.SECRET, secret)
    job = await api.create(kinds.NESTED_APP_JOB, build_job("images", namespace, className=name))
    where = await host_namespace(api, job)
    copied = await wait_for(api, kinds.SECRET, copy, where, bool)
    assert (copied or {})["data"] == made["data"]

    def is_allowed(found: Object | None) -> bool:
        policy = ((found or {}).get("status") or {}).get("policy") or {}
        return bool(policy.get("imagePullSecrets") == [house])

    await wait_for(api, kinds.NESTED_CLUSTER, "images", where, is_allowed)
    runner = await wait_for(api, kinds.POD, "images-run", where, bool)
    assert (runner or {})["spec"]["imagePullSecrets"] == [{"name": copy}]
