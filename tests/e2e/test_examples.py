"""Every example runs: from `kubectl apply` to its page at the URL that the job prints."""

from __future__ import annotations

from nestor.api import conditions
from nestor.kube import Api
from tests.e2e.conftest import Web, apply, example
from tests.waiting import job_with


async def test_hello_world_from_an_app_image_answers_at_its_url(api: Api, namespace: str, web: Web) -> None:
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert job["status"]["url"] == f"http://hello-{namespace}.nestor.localhost:{web.port}/"
    text = await web.page(job["status"]["url"])
    assert "Hello" in text
    assert [step["state"] for step in job["status"]["steps"]] == ["Succeeded"]
    assert job["status"]["kubernetesVersion"].startswith("v1.36")
    assert {item["type"]: item["status"] for item in job["status"]["conditions"]} == {
        "Admitted": "True", "ClusterReady": "True", "StepsApplied": "True", "Exposed": "True", "Ready": "True",
        "Succeeded": "Unknown",
    }


async def test_hello_world_from_a_config_map_answers_too(api: Api, namespace: str, web: Web) -> None:
    await apply(api, example("01-hello-world", "hello", namespace, "job-from-configmap.yaml"))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    text = await web.page(job["status"]["url"])
    assert "Hello" in text


async def test_the_web_server_shows_a_value_that_it_read_from_the_database(api: Api, namespace: str, web: Web) -> None:
    await apply(api, example("02-web-and-database", "shop", namespace))
    job = await job_with(api, "shop", namespace, conditions.READY, "True")
    assert len(job["status"]["steps"]) >= 2
    text = await web.page(job["status"]["url"])
    assert "Hello from the database of a nested cluster" in text
