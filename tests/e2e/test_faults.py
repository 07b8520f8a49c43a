"""Processes die; jobs do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, example, kubectl, nested_kubeconfig
from tests.waiting import job_with, wait_for_any

Object = dict[str, Any]


async def replaced(api: Api, pod: Object) -> Object:
    """Await the successor of a deleted pod that a controller keeps, ready."""

    def is_successor(item: Object) -> bool:
        return item["metadata"]["uid"] != pod["metadata"]["uid"] and conditions.is_true(item["status"].get("conditions"), "Ready")

    where = pod["metadata"]
    selected = ",".join(f"{key}={value}" for key, value in where["labels"].items() if key.startswith("app.kubernetes.io/name"))
    return await wait_for_any(api, kinds.POD, where["namespace"], is_successor, labels=selected)


@pytest.mark.alone
async def test_a_job_goes_on_when_the_operator_is_replaced(api: Api, namespace: str, web: Web) -> None:
    (operator,) = await api.list(kinds.POD, "nestor-system", labels="app.kubernetes.io/name=nestor")
    await apply(api, example("01-hello-world", "hello", namespace))
    await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    await api.delete(kinds.POD, operator["metadata"]["name"], "nestor-system", grace_seconds=0)
    await replaced(api, operator)
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert "Hello" in await web.page(job["status"]["url"])


@pytest.mark.long
async def test_a_lost_control_plane_is_rebuilt_from_the_templates(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    where = job["status"]["namespace"]
    (server,) = await api.list(kinds.POD, where, labels=labels.selector(component="server"))
    await api.delete(kinds.POD, server["metadata"]["name"], where, grace_seconds=0)
    await job_with(api, "hello", namespace, conditions.READY, "False")
    await job_with(api, "hello", namespace, conditions.READY, "True")
    nested = await kubectl(await nested_kubeconfig(api, job, tmp_path), "get", "pods", "-A")
    assert "web-" in nested
    assert "Hello" in await web.page(job["status"]["url"])
