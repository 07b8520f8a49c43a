"""An example of several servers; those of hello-world are in test_appdef_sources, of the step types in test_appdef_types."""

from __future__ import annotations

from nestor.api import conditions
from nestor.kube import Api
from tests.e2e.conftest import Web, apply, example
from tests.waiting import job_with


async def test_the_web_server_shows_a_value_that_it_read_from_the_database(api: Api, namespace: str, web: Web) -> None:
    await apply(api, example("02-web-and-database", "shop", namespace))
    job = await job_with(api, "shop", namespace, conditions.READY, "True")
    assert len(job["status"]["steps"]) >= 2
    text = await web.page(job["status"]["url"])
    assert "Hello from the database of a nested cluster" in text
