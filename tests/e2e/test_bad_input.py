"""What a user reads when the input is wrong; nothing here is lost, nothing fails silently."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from devcluster.demo import install
from nestor.api import conditions
from nestor.kube import Api, Invalid, kinds
from tests.e2e.conftest import apply, example, image, inline_job, kubectl
from tests.waiting import eventually, job_with, message_of

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"
Object = dict[str, Any]


@pytest.mark.parametrize(
    ("change", "reason", "message"),
    [({"className": "gold"}, conditions.CLASS_NOT_FOUND, "'gold'"), ({"command": "Start"}, conditions.COMMAND_NOT_FOUND, "Run")],
)
async def test_unknown_names_are_refused_with_the_known_ones(
    api: Api, namespace: str, change: Object, reason: str, message: str
) -> None:
    documents = inline_job("bad", namespace, {"a.yml": CONFIG_MAP})
    documents[1]["spec"] |= change
    await apply(api, documents)
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", reason)
    assert message in message_of(job, conditions.ADMITTED)
    assert conditions.find(job["status"]["conditions"], conditions.READY)["reason"] == reason  # type: ignore[index]


async def test_an_unknown_version_is_refused_with_those_of_the_class(api: Api, namespace: str, versions: list[str]) -> None:
    documents = inline_job("bad", namespace, {"a.yml": CONFIG_MAP})
    documents[1]["spec"]["kubernetesVersion"] = "v1.99"
    await apply(api, documents)
    job = await job_with(api, "bad", namespace, conditions.ADMITTED, "False", conditions.VERSION_UNSUPPORTED)
    for version in versions:
        assert version in message_of(job, conditions.ADMITTED)
    assert conditions.find(job["status"]["conditions"], conditions.READY)["reason"] == conditions.VERSION_UNSUPPORTED  # type: ignore[index]


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


async def test_a_failed_job_is_corrected_until_its_target_alone_is_missing(api: Api, namespace: str) -> None:
    files = {"a.yml": CONFIG_MAP, "b.yml": "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: x}\n"}
    fine = {"name": "fine", "type": "kubectl", "path": "a.yml"}

    async def corrected(condition: str, status: str, reason: str | None, *steps: Object, **nested: Any) -> Object:
        applied = await apply(api, inline_job("bad", namespace, files, steps, **nested))
        return await job_with(api, "bad", namespace, condition, status, reason, generation=applied["metadata"]["generation"])

    missing = {"name": "install", "type": "kubectl", "path": "c.yml"}
    job = await corrected(conditions.STEPS_APPLIED, "False", conditions.STEP_FAILED, missing)
    assert "'c.yml'" in message_of(job, conditions.STEPS_APPLIED)
    assert "(found: a.yml, b.yml)" in message_of(job, conditions.STEPS_APPLIED)

    broken = {"name": "broken", "type": "kubectl", "path": "b.yml", "retry": 2, "retry_sleep": 0}
    job = await corrected(conditions.STEPS_APPLIED, "False", conditions.STEP_FAILED, fine, broken, fine | {"name": "never"})
    states = [(step["name"], step["state"]) for step in job["status"]["steps"]]
    assert states == [("fine", "Succeeded"), ("broken", "Failed"), ("never", "Pending")]
    assert job["status"]["steps"][1]["attempt"] == job["status"]["steps"][1]["maxAttempts"] == 3
    assert 'no matches for kind "Unknown"' in message_of(job, conditions.STEPS_APPLIED)
    assert "'broken'" in message_of(job, conditions.STEPS_APPLIED)

    targets = [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}]
    job = await corrected(conditions.STEPS_APPLIED, "True", None, fine, targets=targets)
    job = await job_with(api, "bad", namespace, conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)
    assert "'web'" in message_of(job, conditions.EXPOSED)
    assert "'default'" in message_of(job, conditions.EXPOSED)


async def test_an_image_that_cannot_be_pulled_is_waited_for_with_the_pods_own_reason(api: Api, namespace: str) -> None:
    documents = example("01-hello-world", "pull", namespace)
    documents[-1]["spec"]["app"]["image"] = image("no-such-image:1")
    await apply(api, documents)

    job = await job_with(api, "pull", namespace, conditions.STEPS_APPLIED, "False", conditions.IMAGE_PULL_FAILED)
    assert "no-such-image" in message_of(job, conditions.STEPS_APPLIED)
    assert conditions.is_true(job["status"]["conditions"], conditions.ADMITTED)


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


# The API server needs a while for each of them, so no other test should wait for it.
@pytest.mark.alone
async def test_thirteen_jobs_that_are_huge_in_memory_change_nothing_for_anybody_else(
    api: Api, namespace: str, kubeconfig: Path
) -> None:
    async def find_operator() -> tuple[str, int]:
        (pod,) = await api.list(kinds.POD, install.NAMESPACE, labels="app.kubernetes.io/name=nestor")
        return pod["metadata"]["uid"], sum(item["restartCount"] for item in pod["status"]["containerStatuses"])

    before = await find_operator()
    wide: list[Any] = [[] for _ in range(480_000)]
    for number in range(13):
        job = inline_job(f"wide-{number}", namespace, {"a.yml": CONFIG_MAP})[1]
        job["spec"]["parameters"] = {"a": wide}
        await kubectl(kubeconfig, "create", "--validate=false", "-f", "-", stdin=json.dumps(job))

    async def find_refusal() -> str | None:
        await asyncio.sleep(0.5)
        status = (await api.get(kinds.NESTED_APP_JOB, "wide-12", namespace)).get("status") or {}
        found = conditions.find(status.get("conditions"), conditions.ADMITTED)
        return str(found["message"]) if found and found["status"] == "False" else None

    assert "bytes as JSON; at most 262144 are accepted" in await eventually(find_refusal, limit=120)
    await apply(api, inline_job("good", namespace, {"a.yml": CONFIG_MAP}))
    await job_with(api, "good", namespace, conditions.READY, "True", limit=120)
    assert await find_operator() == before
