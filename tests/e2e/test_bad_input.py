"""What a user reads when the input is wrong; nothing here is lost, nothing fails silently."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api import conditions
from nestor.kube import Api, Invalid, kinds
from tests.e2e.conftest import Web, apply, example, inline_job
from tests.waiting import job_with, message_of

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"
Object = dict[str, Any]


@pytest.mark.parametrize(
    ("change", "reason", "message"),
    [
        ({"kubernetesVersion": "v1.99"}, conditions.VERSION_UNSUPPORTED, "v1.36"),
        ({"className": "gold"}, conditions.CLASS_NOT_FOUND, "'gold'"),
        ({"command": "Start"}, conditions.COMMAND_NOT_FOUND, "Run"),
    ],
)
async def test_unknown_names_are_refused_with_the_known_ones(
    api: Api, namespace: str, change: Object, reason: str, message: str,
) -> None:
    documents = inline_job("bad", namespace, {"a.yml": CONFIG_MAP})
    documents[1]["spec"] |= change
    await apply(api, documents)
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", reason)
    assert message in message_of(job, conditions.ADMITTED)
    assert conditions.find(job["status"]["conditions"], conditions.READY)["reason"] == reason  # type: ignore[index]


async def test_an_appdef_without_templates_is_refused(api: Api, namespace: str) -> None:
    documents = inline_job("bad", namespace, {"a.yml": CONFIG_MAP})
    del documents[1]["spec"]["app"]["appDef"]["commands"]["Run"]["nested_kubernetes"]["templates"]
    await apply(api, documents)
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", conditions.APPDEF_INVALID)
    assert "templates" in message_of(job, conditions.ADMITTED)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a/../../b.yml"])
async def test_a_template_path_that_leaves_the_folder_is_refused(api: Api, namespace: str, path: str) -> None:
    steps = [{"name": "leave", "type": "kubectl", "path": path}]
    await apply(api, inline_job("bad", namespace, {"a.yml": CONFIG_MAP}, steps))
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", conditions.APPDEF_INVALID)
    assert path in message_of(job, conditions.ADMITTED)


async def test_a_template_that_does_not_exist_fails_its_step_and_names_those_there_are(api: Api, namespace: str) -> None:
    steps = [{"name": "install", "type": "kubectl", "path": "b.yml"}]
    await apply(api, inline_job("bad", namespace, {"a.yml": CONFIG_MAP}, steps))
    job = await job_with(api, "bad", namespace, conditions.STEPS_APPLIED, "False", conditions.STEP_FAILED)
    assert "'b.yml'" in message_of(job, conditions.STEPS_APPLIED)
    assert "a.yml" in message_of(job, conditions.STEPS_APPLIED)


async def test_a_template_that_kubectl_refuses_fails_after_its_retries_with_kubectls_words(api: Api, namespace: str) -> None:
    steps: list[Object] = [
        {"name": "fine", "type": "kubectl", "path": "a.yml"},
        {"name": "broken", "type": "kubectl", "path": "b.yml", "retry": 2, "retry_sleep": 0},
        {"name": "never", "type": "kubectl", "path": "a.yml"},
    ]
    broken = "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: x}\n"
    await apply(api, inline_job("bad", namespace, {"a.yml": CONFIG_MAP, "b.yml": broken}, steps))
    job = await job_with(api, "bad", namespace, conditions.STEPS_APPLIED, "False", conditions.STEP_FAILED)
    states = [(step["name"], step["state"]) for step in job["status"]["steps"]]
    assert states == [("fine", "Succeeded"), ("broken", "Failed"), ("never", "Pending")]
    assert job["status"]["steps"][1]["attempt"] == job["status"]["steps"][1]["maxAttempts"] == 3
    assert 'no matches for kind "Unknown"' in message_of(job, conditions.STEPS_APPLIED)
    assert "'broken'" in message_of(job, conditions.STEPS_APPLIED)


async def test_an_image_that_cannot_be_pulled_is_waited_for_with_the_pods_own_reason(api: Api, namespace: str) -> None:
    documents = example("01-hello-world", "pull", namespace)
    documents[-1]["spec"]["app"]["image"] = "registry.nestor.localhost/no-such-image:1"
    await apply(api, documents)

    job = await job_with(api, "pull", namespace, conditions.STEPS_APPLIED, "False", conditions.IMAGE_PULL_FAILED)
    assert "no-such-image" in message_of(job, conditions.STEPS_APPLIED)
    assert conditions.is_true(job["status"]["conditions"], conditions.ADMITTED)


async def test_a_target_service_that_never_appears_is_named(api: Api, namespace: str) -> None:
    targets = [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}]
    await apply(api, inline_job("lost", namespace, {"a.yml": CONFIG_MAP}, targets=targets))
    await job_with(api, "lost", namespace, conditions.STEPS_APPLIED, "True")
    job = await job_with(api, "lost", namespace, conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)
    assert "'web'" in message_of(job, conditions.EXPOSED)
    assert "'default'" in message_of(job, conditions.EXPOSED)


async def test_a_host_that_another_job_has_stays_with_it(api: Api, namespace: str, web: Web) -> None:
    first = example("01-hello-world", "first", namespace)
    second = example("01-hello-world", "second", namespace)
    for documents in (first, second):
        documents[-1]["spec"]["expose"] = {"host": f"shared-{namespace}.nestor.localhost"}
    await apply(api, first)
    job = await job_with(api, "first", namespace, conditions.READY, "True")
    await apply(api, second)
    loser = await job_with(api, "second", namespace, conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)
    assert f"shared-{namespace}.nestor.localhost" in message_of(loser, conditions.EXPOSED)
    assert "Hello" in await web.page(job["status"]["url"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"app": {"templatesFrom": {"configMapRef": {"name": "a"}}}}, "appDef"),
        ({"appRef": {"name": "a"}}, "appRef"),
        ({"command": ""}, "command"),
        ({"expose": {"host": "not a host"}}, "host"),
    ],
)
async def test_contradictions_are_refused_at_the_door(api: Api, namespace: str, change: Object, message: str) -> None:
    job = inline_job("bad", namespace, {"a.yml": CONFIG_MAP})[1]
    job["spec"] |= change
    with pytest.raises(Invalid) as refused:
        await api.create(kinds.NESTED_APP_JOB, job)
    assert message in str(refused.value)
