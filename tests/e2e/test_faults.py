"""Processes die; jobs do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, example, inline_job, kubectl, nested_kubeconfig
from tests.waiting import job_with, wait_for_any

Object = dict[str, Any]

SLOW = "apiVersion: example.com/v1\nkind: Late\nmetadata: {name: x}\n"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lates, singular: late, kind: Late}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""


async def replaced(api: Api, pod: Object) -> Object:
    """Await the successor of a deleted pod that a controller keeps, ready."""

    def is_successor(item: Object) -> bool:
        return item["metadata"]["uid"] != pod["metadata"]["uid"] and conditions.is_true(item["status"].get("conditions"), "Ready")

    where = pod["metadata"]
    selected = ",".join(f"{key}={value}" for key, value in where["labels"].items() if key.startswith("app.kubernetes.io/name"))
    return await wait_for_any(api, kinds.POD, where["namespace"], is_successor, labels=selected, limit=120)


@pytest.mark.alone
async def test_a_job_goes_on_when_the_operator_is_replaced(api: Api, namespace: str, web: Web) -> None:
    (operator,) = await api.list(kinds.POD, "nestor-system", labels="app.kubernetes.io/name=nestor")
    await apply(api, example("01-hello-world", "hello", namespace))
    await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    await api.delete(kinds.POD, operator["metadata"]["name"], "nestor-system", grace_seconds=0)
    await replaced(api, operator)
    job = await job_with(api, "hello", namespace, conditions.READY, "True", limit=120)
    assert "Hello" in await web.page(job["status"]["url"])


async def test_a_lost_control_plane_is_rebuilt_from_the_templates(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    where = job["status"]["namespace"]
    (server,) = await api.list(kinds.POD, where, labels=labels.selector(component="server"))
    await api.delete(kinds.POD, server["metadata"]["name"], where, grace_seconds=0)
    await job_with(api, "hello", namespace, conditions.READY, "False", limit=60)
    await job_with(api, "hello", namespace, conditions.READY, "True", limit=120)
    nested = await kubectl(await nested_kubeconfig(api, job, tmp_path), "get", "pods", "-A")
    assert "web-" in nested
    assert "Hello" in await web.page(job["status"]["url"])


async def test_a_killed_runner_resumes_at_its_step_and_repeats_none(api: Api, namespace: str, tmp_path: Path) -> None:
    files = {"a.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n", "late.yml": SLOW}
    steps: list[Object] = [
        {"name": "first", "type": "kubectl", "path": "a.yml"},
        {"name": "late", "type": "kubectl", "path": "late.yml", "retry": 100, "retry_sleep": 1},
    ]
    await apply(api, inline_job("resume", namespace, files, steps))
    job = await job_with(api, "resume", namespace, conditions.STEPS_APPLIED, "False", conditions.STEP_RETRYING)
    before = job["status"]["steps"][0]
    (runner,) = await api.list(kinds.POD, job["status"]["namespace"], labels=labels.selector(component="runner"))
    await api.delete(kinds.POD, runner["metadata"]["name"], job["status"]["namespace"], grace_seconds=0)
    await kubectl(await nested_kubeconfig(api, job, tmp_path), "apply", "-f", "-", stdin=CRD)
    done = await job_with(api, "resume", namespace, conditions.STEPS_APPLIED, "True", limit=120)
    assert done["status"]["steps"][0] == before
    assert done["status"]["steps"][1]["attempt"] > 1
