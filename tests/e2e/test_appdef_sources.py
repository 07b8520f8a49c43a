"""hello-world by each way to name an application: in the job, from a ConfigMap, from its image alone, from the catalog."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.conftest import ROOT, Cluster, Web, apply, example, read_example
from tests.waiting import gone, has, job_with, wait_for

FOLDER = "01-hello-world"


@pytest.fixture
async def entry(api: Api) -> AsyncIterator[Object]:
    """The example's entry of the catalog, under a name of its own."""
    (body,) = read_example(FOLDER, "app.yaml")
    body["metadata"]["name"] = f"hello-{uuid.uuid4().hex[:6]}"
    yield await api.create(kinds.NESTED_APP, body)
    await api.delete(kinds.NESTED_APP, body["metadata"]["name"])


def build_job(namespace: str, **spec: Any) -> Object:
    """A job that names its application by `spec`."""
    return {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": "hello", "namespace": namespace},
        "spec": spec,
    }


async def see_page(api: Api, namespace: str, web: Web) -> Object:
    """Await the job and its page."""
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert "Hello" in await web.page(job["status"]["url"])
    return job


async def pin_of(api: Api, job: Object) -> Object:
    """What is kept of the job's application."""
    found = await api.get(kinds.CONFIG_MAP, "hello-app", job["status"]["namespace"])
    content: Object = json.loads(found["data"]["app.json"])
    return content


@pytest.mark.parametrize("file", ["job.yaml", "job-from-configmap.yaml"])
async def test_an_appdef_in_the_job(
    api: Api, namespace: str, web: Web, cluster: Cluster, default_version: str, file: str
) -> None:
    await apply(api, example(FOLDER, "hello", namespace, file))
    job = await see_page(api, namespace, web)
    assert job["status"]["url"] == cluster.url(f"hello-{namespace}")
    assert [step["state"] for step in job["status"]["steps"]] == ["Succeeded"]
    assert job["status"]["kubernetesVersion"].startswith(f"{default_version}.")
    assert {item["type"]: item["status"] for item in job["status"]["conditions"]} == {
        "Admitted": "True",
        "ClusterReady": "True",
        "StepsApplied": "True",
        "Exposed": "True",
        "Ready": "True",
        "Succeeded": "Unknown",
    }
    assert await api.find(kinds.CONFIG_MAP, "hello-app", job["status"]["namespace"]) is None


async def test_an_image_with_its_own_appdef(api: Api, namespace: str, web: Web) -> None:
    await apply(api, example(FOLDER, "hello", namespace, "job-from-image.yaml"))
    job = await see_page(api, namespace, web)
    pin = await pin_of(api, job)
    in_image = json.loads((ROOT / "examples" / FOLDER / "AppDef.json").read_text())
    assert pin["appDef"] == in_image
    assert pin["source"] == f"image '{pin['image']}'"
    # It has done its work before the job was admitted.
    await gone(api, kinds.POD, "hello-reader", job["status"]["namespace"])


async def test_an_application_of_the_catalog(api: Api, namespace: str, web: Web, entry: Object) -> None:
    name = entry["metadata"]["name"]
    found = await wait_for(api, kinds.NESTED_APP, name, "", has(conditions.ACCEPTED, "True")) or {}
    assert [command["id"] for command in found["status"]["commands"]] == ["Hello"]
    await api.create(kinds.NESTED_APP_JOB, build_job(namespace, appRef={"name": name}))
    job = await see_page(api, namespace, web)
    assert (await pin_of(api, job))["source"] == f"NestedApp '{name}'"
