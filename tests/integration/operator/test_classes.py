"""Which class a job has, and what classes limit: deadlines, images, machines."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Forbidden, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import Object, build_class, build_job, host_namespace, message_of, runner_of
from tests.waiting import exists, job_with

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
        cluster = await exists(api, kinds.NESTED_CLUSTER, "marked", where)
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
    quota = await exists(api, kinds.RESOURCE_QUOTA, "nestor", where)
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
    machine = {"name": "small", "quota": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 1}}
    name = await make(
        namespace={"maxResources": {"cpu": 1, "memory": "3Gi"}}, placement={"machines": [machine], "defaultMachine": "small"}
    )
    job = await api.create(kinds.NESTED_APP_JOB, build_job("bound", namespace, className=name))
    where = await host_namespace(api, job)
    await runner_of(api, "bound", where)
    (limit,) = (await api.get(kinds.LIMIT_RANGE, "nestor", where))["spec"]["limits"]
    assert limit["max"] == {"cpu": "2", "memory": "3Gi"}
    quota = await exists(api, kinds.RESOURCE_QUOTA, "nestor", where, lambda found: found.get("status"))
    assert quota["spec"]["hard"]["requests.nvidia.com/gpu"] == "1"
    assert quota["spec"]["hard"]["requests.cpu"] == "4502m"

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
