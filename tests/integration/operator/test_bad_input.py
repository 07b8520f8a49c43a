"""What users read when what they wrote is wrong, or what they named is not there."""

from typing import Any

import pytest

from nestor.api import conditions
from nestor.kube import Api, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import Object, be_ready_server, build_class, build_job, host_namespace, message_of
from tests.waiting import gone, job_with, wait_for_any


async def test_unknown_names_are_refused_with_the_known_ones(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("bad", namespace, command="Start"))
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", conditions.COMMAND_NOT_FOUND)
    assert message_of(job, conditions.ADMITTED).endswith("the AppDef has no command 'Start'; available: 'Hello'")
    assert message_of(job, conditions.READY) == message_of(job, conditions.ADMITTED)
    event = await wait_for_any(api, kinds.EVENT, namespace, lambda event: event["reason"] == conditions.COMMAND_NOT_FOUND)
    assert event["type"] == "Warning"


async def test_a_refused_job_is_admitted_when_its_class_appears(operator: Operator, api: Api, namespace: str) -> None:
    name = f"class-{namespace}"
    await api.create(kinds.NESTED_APP_JOB, build_job("early", namespace, className=name))
    await job_with(api, "early", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)
    await api.apply(kinds.NESTED_CLASS, build_class(name))
    await job_with(api, "early", namespace, conditions.ADMITTED, "True")
    await api.delete(kinds.NESTED_CLASS, name)


async def test_a_missing_config_map_is_named_and_waited_for(operator: Operator, api: Api, namespace: str) -> None:
    job = build_job("late", namespace)
    job["spec"]["app"] = {"templatesFrom": {"configMapRef": {"name": "late-files"}}, "appDef": job["spec"]["app"]["appDef"]}
    job = await api.create(kinds.NESTED_APP_JOB, job)
    refused = await job_with(api, "late", namespace, conditions.ADMITTED, "False", conditions.TEMPLATES_NOT_FOUND)
    assert message_of(refused, conditions.ADMITTED) == f"no ConfigMap named 'late-files' in namespace '{namespace}'"
    await api.apply(kinds.CONFIG_MAP, {"metadata": {"name": "late-files", "namespace": namespace}, "data": {"hello.yml": "a: b"}})
    await job_with(api, "late", namespace, conditions.ADMITTED, "True")
    copy = await api.get(kinds.CONFIG_MAP, "late-templates", await host_namespace(api, job))
    assert copy["data"] == {"hello.yml": "a: b"}


async def test_a_secret_of_the_users_is_never_overwritten(operator: Operator, api: Api, namespace: str) -> None:
    foreign = {"metadata": {"name": "mine-kubeconfig", "namespace": namespace}, "stringData": {"kubeconfig": "x"}}
    await api.apply(kinds.SECRET, foreign)
    job = await api.create(kinds.NESTED_APP_JOB, build_job("mine", namespace))
    await be_ready_server(api, "mine", await host_namespace(api, job))
    job = await job_with(api, "mine", namespace, conditions.CLUSTER_READY, "True")
    assert "Secret 'mine-kubeconfig'" in message_of(job, conditions.CLUSTER_READY)
    assert "kubeconfigSecretName" not in job["status"]
    await api.delete(kinds.NESTED_APP_JOB, "mine", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "mine", namespace)
    assert await api.find(kinds.SECRET, "mine-kubeconfig", namespace)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"app": {"image": "a", "templatesFrom": {"configMapRef": {"name": "b"}}, "appDef": {}}}, "are mutually exclusive"),
        ({"app": {"templatesFrom": {"configMapRef": {"name": "b"}}}}, "`appDef` must be set when there is no `image`"),
        ({"app": {"image": "a"}, "appRef": {"name": "b"}}, "`app` and `appRef` are mutually exclusive"),
        ({"app": {"image": "a"}, "successPolicy": {"targets": [{"kind": "Job"}]}}, "exactly one of `name` and `matchLabels`"),
        ({"app": {"image": "a"}, "successPolicy": {"targets": [{"kind": "Train", "name": "a"}]}},
         "`apiVersion` and `condition` must be set for kinds other than Job, JobSet and Pod"),
        ({"app": {"image": "a"}, "failurePolicy": {"action": "Retry"}}, "Fail"),
        ({"app": {"templatesFrom": {"configMapRef": {"name": "b"}}, "imagePullSecretName": "c", "appDef": {}}},
         "`imagePullSecretName` may be set only together with `image`"),
        ({"command": ""}, "spec.command"),
        ({"expose": {"host": "not a host"}}, "must be a host name such as 'shop.example.com'"),
        ({"kubernetesVersion": "1.36.2"}, "must be a Kubernetes version as major.minor, for example 'v1.36'"),
    ],
)  # fmt: skip
async def test_contradictions_are_refused_by_the_api_server(plane: Any, api: Api, change: Object, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        await api.create(kinds.NESTED_APP_JOB, build_job("bad", "default", **change))
    assert message in str(refused.value)


@pytest.mark.parametrize("cidr", ["10.0.0.0/80", "10.0.0.0", "fd00::/129", "office/8"])
async def test_a_range_that_is_none_is_refused(plane: Any, api: Api, cidr: str) -> None:
    body = build_class("bad")
    body["spec"]["network"] = {"privateRanges": [cidr]}
    with pytest.raises(Invalid, match=r"must be an address range such as '10.0.0.0/8' or 'fd00::/8'"):
        await api.create(kinds.NESTED_CLASS, {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedClass", **body})


@pytest.mark.parametrize("name", ["a" * 53, "1st", "a.b"])
async def test_names_that_make_no_service_are_refused(plane: Any, api: Api, name: str) -> None:
    with pytest.raises(Invalid, match=r"`metadata.name` must be at most 52 lower-case letters"):
        await api.create(kinds.NESTED_APP_JOB, build_job(name, "default"))


IMMUTABLE: tuple[tuple[Object, str], ...] = (
    ({"className": "other"}, "`className` may not be added or removed: delete the object and create it again"),
    ({"command": "Hello"}, "`command` may not be added or removed"),
    ({"kubernetesVersion": "v1.35"}, "`kubernetesVersion` may not be added or removed"),
    ({"app": {"image": "other"}}, "`app.image` may not be changed"),
    ({"app": None}, "`app` may not be added or removed"),
)


async def test_what_is_immutable_says_so(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("fixed", namespace))
    for change, message in IMMUTABLE:
        with pytest.raises(Invalid, match=message):
            await api.patch(kinds.NESTED_APP_JOB, "fixed", namespace, {"spec": change})
