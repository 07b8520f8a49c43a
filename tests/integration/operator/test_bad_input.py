"""What users read when what they wrote is wrong, or what they named is not there."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions
from nestor.kube import Api, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import (
    STEP,
    TARGET,
    Object,
    be_ready_server,
    be_target,
    build_class,
    build_job,
    host_namespace,
    message_of,
    run_of,
    set_pod_status,
    waiting,
)
from tests.waiting import job_with, wait_for, wait_for_any


@pytest.mark.parametrize(
    ("change", "reason", "message", "known"),
    [
        (
            {"kubernetesVersion": "v1.99"},
            conditions.VERSION_UNSUPPORTED,
            "Kubernetes version 'v1.99' is not offered by class 'default'; available: ",
            "v1.35, v1.36",
        ),
        # With the class of the test before, as long as the operator has not heard that it is gone.
        ({"className": "gold"}, conditions.CLASS_NOT_FOUND, "no NestedClass named 'gold'; available: ", "'default'"),
        ({"command": "Start"}, conditions.COMMAND_NOT_FOUND, "the AppDef has no command 'Start'; available: ", "'Hello'"),
    ],
)
async def test_unknown_names_are_refused_with_the_known_ones(
    operator: Operator, api: Api, namespace: str, change: Object, reason: str, message: str, known: str
) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("bad", namespace, **change))
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", reason)
    before, told, available = message_of(job, conditions.ADMITTED).partition(message)
    assert (told, known in available) == (message, True), before
    assert message_of(job, conditions.READY) == message_of(job, conditions.ADMITTED)
    assert (await wait_for_any(api, kinds.EVENT, namespace, lambda event: event["reason"] == reason))["type"] == "Warning"


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({"targets": [TARGET]}, "`appDef.commands.Hello.nested_kubernetes.templates` must be set"),
        ({"templates": []}, "`templates` must be a list of at least one step"),
        ({"templates": [STEP | {"path": "../etc/passwd"}]}, "'../etc/passwd' must not contain '..'"),
        ({"templates": [STEP | {"path": "/etc/passwd"}]}, "'/etc/passwd' must be relative to /templates"),
        ({"templates": [STEP | {"type": "magic"}]}, "must be 'kubectl', 'kustomize', 'custom' or 'helm', not 'magic'"),
        ({"templates": [STEP], "targets": [{"service_name": "web"}]}, "targets[0].service_port` must be set"),
    ],
)
async def test_a_faulty_appdef_is_refused_with_the_field(
    operator: Operator, api: Api, namespace: str, nested: Object, message: str
) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("bad", namespace, nested=nested))
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", conditions.APPDEF_INVALID)
    assert message in message_of(job, conditions.ADMITTED)


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


@pytest.mark.parametrize(
    ("kind", "message"),
    [(None, "no Secret 'pull'"), ("Opaque", "has type 'Opaque'; it must be one of kubernetes.io/dockerconfigjson")],
)
async def test_a_pull_secret_that_is_none_is_refused(
    operator: Operator, api: Api, namespace: str, kind: str | None, message: str
) -> None:
    if kind:
        await api.apply(kinds.SECRET, {"metadata": {"name": "pull", "namespace": namespace}, "type": kind})
    job = build_job("private", namespace)
    job["spec"]["app"]["imagePullSecretName"] = "pull"
    await api.create(kinds.NESTED_APP_JOB, job)
    refused = await job_with(api, "private", namespace, conditions.ADMITTED, "False", conditions.PULL_SECRET_NOT_FOUND)
    assert message in message_of(refused, conditions.ADMITTED)


async def test_images_that_cannot_be_pulled_are_waited_for_with_the_pods_own_reason(
    operator: Operator, api: Api, namespace: str
) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("pull", namespace))
    where = await host_namespace(api, job)
    await set_pod_status(api, "pull-k3s-0", where, waiting("k3s", "ErrImagePull", "manifest unknown"))
    await set_pod_status(api, "pull-run", where, waiting("runner", "ImagePullBackOff", "Back-off pulling image"))
    job = await job_with(api, "pull", namespace, conditions.STEPS_APPLIED, "False", conditions.IMAGE_PULL_FAILED)
    said = "ImagePullBackOff: Back-off pulling image (app image 'registry.test/hello:1')"
    assert said in message_of(job, conditions.STEPS_APPLIED)
    job = await job_with(api, "pull", namespace, conditions.CLUSTER_READY, "False", conditions.IMAGE_PULL_FAILED)
    assert message_of(job, conditions.CLUSTER_READY) == "pod 'pull-k3s-0', container 'k3s': ErrImagePull: manifest unknown"
    assert conditions.is_true(job["status"]["conditions"], conditions.ADMITTED)


async def test_a_failed_step_tells_kubectls_last_words(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("broken", namespace))
    where = await host_namespace(api, job)
    said = 'error: no matches for kind "Unknown" in version "example.com/v1"'
    run = await run_of(api, "broken", where, "Failed", state="Failed", attempt=3, maxAttempts=3, exitCode=1, message=said)
    await be_ready_server(api, "broken", where, run=run)
    job = await job_with(api, "broken", namespace, conditions.READY, "False", conditions.STEP_FAILED)
    assert message_of(job, conditions.STEPS_APPLIED) == f"step 1 of 1 'hello' failed, attempt 3 of 3: {said}"
    assert message_of(job, conditions.READY) == f"step 'hello' failed: {said}"
    assert job["status"]["steps"][0]["exitCode"] == 1


async def test_a_target_service_that_never_appears_is_named(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("lost", namespace))
    where = await host_namespace(api, job)
    await be_ready_server(api, "lost", where)
    await be_ready_server(api, "lost", where, run=await run_of(api, "lost", where, "Succeeded"))
    job = await job_with(api, "lost", namespace, conditions.READY, "False", conditions.TARGET_NOT_FOUND)
    said = message_of(job, conditions.EXPOSED)
    assert said.startswith("no Service named 'web' in namespace 'default' of the nested cluster")


async def test_the_older_job_keeps_its_host_and_the_younger_gets_it_afterwards(
    operator: Operator, api: Api, namespace: str
) -> None:
    expose = {"expose": {"host": f"shared-{namespace}.jobs.test"}}
    first = await api.create(kinds.NESTED_APP_JOB, build_job("first", namespace, **expose))
    where = await host_namespace(api, first)
    await be_target(api, where, first)
    await job_with(api, "first", namespace, conditions.EXPOSED, "True")
    second = await api.create(kinds.NESTED_APP_JOB, build_job("second", namespace, **expose))
    refused = await job_with(api, "second", namespace, conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)
    assert message_of(refused, conditions.EXPOSED) == (
        f"host 'shared-{namespace}.jobs.test' is taken by the older job 'first' in namespace '{namespace}'; "
        "choose another one with `expose.host`"
    )
    assert "url" not in refused["status"]
    await api.delete(kinds.NESTED_APP_JOB, "first", namespace)
    await job_with(api, "second", namespace, conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)
    assert await api.find(kinds.INGRESS, "second", await host_namespace(api, second))


async def test_a_host_outside_the_classs_domain_is_refused_until_it_is_changed(
    operator: Operator, api: Api, namespace: str
) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("greedy", namespace, expose={"host": "bank.example"}))
    refused = await job_with(api, "greedy", namespace, conditions.EXPOSED, "False", conditions.HOST_NOT_ALLOWED)
    said = "`expose.host` 'bank.example' is not allowed by class 'default'; allowed: '*.jobs.test'"
    assert message_of(refused, conditions.EXPOSED) == said
    where = await host_namespace(api, job)
    await operator.heard(api)
    assert await api.find(kinds.INGRESS, "greedy", where) is None
    good = {"spec": {"expose": {"host": f"bank-{namespace}.jobs.test"}}}
    await api.patch(kinds.NESTED_APP_JOB, "greedy", namespace, good)
    await wait_for(api, kinds.INGRESS, "greedy", where, lambda found: found is not None)


async def test_an_ingress_of_somebody_else_keeps_its_host(operator: Operator, api: Api, namespace: str) -> None:
    host = f"portal-{namespace}.jobs.test"
    backend = {"service": {"name": "portal", "port": {"number": 80}}}
    await api.create(
        kinds.INGRESS,
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "portal", "namespace": namespace},
            "spec": {"rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]},
        },
    )
    await api.create(kinds.NESTED_APP_JOB, build_job("late", namespace, expose={"host": host}))
    job = await job_with(api, "late", namespace, conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)
    assert f"is taken by Ingress 'portal' in namespace '{namespace}'" in message_of(job, conditions.EXPOSED)
    await api.delete(kinds.INGRESS, "portal", namespace)
    await job_with(api, "late", namespace, conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)


async def test_a_secret_of_the_users_is_never_overwritten(operator: Operator, api: Api, namespace: str) -> None:
    foreign = {"metadata": {"name": "mine-kubeconfig", "namespace": namespace}, "stringData": {"kubeconfig": "x"}}
    await api.apply(kinds.SECRET, foreign)
    job = await api.create(kinds.NESTED_APP_JOB, build_job("mine", namespace))
    await be_ready_server(api, "mine", await host_namespace(api, job))
    job = await job_with(api, "mine", namespace, conditions.CLUSTER_READY, "True")
    assert "Secret 'mine-kubeconfig'" in message_of(job, conditions.CLUSTER_READY)
    assert "kubeconfigSecretName" not in job["status"]
    await api.delete(kinds.NESTED_APP_JOB, "mine", namespace)
    await wait_for(api, kinds.NESTED_APP_JOB, "mine", namespace, lambda found: found is None)
    assert await api.find(kinds.SECRET, "mine-kubeconfig", namespace)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"app": {"image": "a", "templatesFrom": {"configMapRef": {"name": "b"}}, "appDef": {}}}, "are mutually exclusive"),
        ({"app": {"templatesFrom": {"configMapRef": {"name": "b"}}}}, "`appDef` must be set when there is no `image`"),
        ({"app": {"image": "a"}, "appRef": {"name": "b"}}, "`app` and `appRef` are mutually exclusive"),
        ({"app": {"image": "a"}, "successPolicy": {"targets": [{"kind": "Job"}]}}, "exactly one of `name` and `matchLabels`"),
        (
            {"app": {"image": "a"}, "successPolicy": {"targets": [{"kind": "Train", "name": "a"}]}},
            "`apiVersion` and `condition` must be set for kinds other than Job, JobSet and Pod",
        ),
        ({"app": {"image": "a"}, "failurePolicy": {"action": "Retry"}}, "Fail"),
        (
            {"app": {"templatesFrom": {"configMapRef": {"name": "b"}}, "imagePullSecretName": "c", "appDef": {}}},
            "`imagePullSecretName` may be set only together with `image`",
        ),
        ({"command": ""}, "spec.command"),
        ({"expose": {"host": "not a host"}}, "must be a host name such as 'shop.example.com'"),
        ({"kubernetesVersion": "1.36.2"}, "must be a Kubernetes version as major.minor, for example 'v1.36'"),
    ],
)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"className": "other"}, "`className` may not be added or removed: delete the object and create it again"),
        ({"command": "Hello"}, "`command` may not be added or removed"),
        ({"kubernetesVersion": "v1.35"}, "`kubernetesVersion` may not be added or removed"),
        ({"app": {"image": "other"}}, "`app.image` may not be changed"),
        ({"app": None}, "`app` may not be added or removed"),
    ],
)
async def test_what_is_immutable_says_so(operator: Operator, api: Api, namespace: str, change: Object, message: str) -> None:
    await api.create(kinds.NESTED_APP_JOB, build_job("fixed", namespace))
    with pytest.raises(Invalid) as refused:
        await api.patch(kinds.NESTED_APP_JOB, "fixed", namespace, {"spec": change})
    assert message in str(refused.value)
