"""The chart's sample applications: in the catalog, and ready to run."""

import base64
import json

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from tests.integration.chart import render
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import build_job
from tests.waiting import exists, has, job_with, wait_for

MIRROR = ("--set", "catalog.samples.registry=mirror.test/library")


async def test_jobs_run_them_without_anything_else(api: Api, namespace: str, operator: Operator) -> None:
    documents = await render(*MIRROR)
    found = [item for item in documents if item["kind"] == "NestedApp"]
    assert {item["metadata"]["name"] for item in found} == {"hello-world", "pi", "visit-counter"}
    files = [item for item in documents if item["metadata"]["name"].startswith("nestor-sample-")]
    for item in files:
        await api.apply(kinds.CONFIG_MAP, item)
    for item in found:
        name = item["metadata"]["name"]
        await api.apply(kinds.NESTED_APP, item)
        await wait_for(api, kinds.NESTED_APP, name, "", has(conditions.ACCEPTED, "True"))
        job = build_job(name, namespace) | {"spec": {"appRef": {"name": name}}}
        await api.create(kinds.NESTED_APP_JOB, job)
        admitted = await job_with(api, name, namespace, conditions.ADMITTED, "True", conditions.ADMITTED_REASON)
        home = admitted["status"]["namespace"]
        copy = await exists(api, kinds.CONFIG_MAP, f"{name}-templates", home)
        plan = await exists(api, kinds.SECRET, f"{name}-plan", home)
        steps = json.loads(base64.b64decode(plan["data"]["plan.json"]))["steps"]
        assert {step["path"] for step in steps if step.get("path")} <= copy["data"].keys()
        assert "image: mirror.test/library/busybox:1.35" in copy["data"]["web.yml"]
        await api.delete(kinds.NESTED_APP, name)
    assert "docker.io" not in json.dumps(files)


@pytest.mark.parametrize(("value", "count"), [("true", 3), ("false", 0)])
async def test_an_admin_may_do_without_them(value: str, count: int) -> None:
    documents = await render("--set", f"catalog.samples.enabled={value}")
    assert sum(item["kind"] == "NestedApp" for item in documents) == count
