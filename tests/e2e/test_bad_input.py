"""What a user reads when steps fail, until all are corrected. What is refused earlier is in the operator's own tests."""

from __future__ import annotations

from typing import Any

from nestor.api import conditions
from nestor.kube import Api
from tests.e2e.conftest import apply, inline_job
from tests.waiting import job_with, message_of

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"
Object = dict[str, Any]


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
