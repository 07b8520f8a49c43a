"""A job that gets a cluster of its class's pool, beside one that waits for its own. Others' jobs keep pools from filling."""

import time

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object, labels_of, status_of
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, class_like_default, example
from tests.waiting import exists, gone, job_with


async def see_page(api: Api, web: Web, name: str, namespace: str, class_name: str) -> float:
    """Seconds from the job's creation to its page."""
    documents = example("01-hello-world", name, namespace)
    documents[-1]["spec"]["className"] = class_name
    begin = time.monotonic()
    await apply(api, documents)
    found = await exists(api, kinds.NESTED_APP_JOB, name, namespace, lambda item: status_of(item).get("url"))
    assert "Hello" in await web.page(found["status"]["url"])
    return time.monotonic() - begin


@pytest.mark.alone
async def test_a_page_from_a_cluster_that_waited(api: Api, namespace: str, web: Web) -> None:
    async with class_like_default(api, "pool", pool=1) as class_name:

        def is_full(item: Object) -> bool:
            return any(one["ready"] for one in status_of(item).get("pool") or ())

        found = await exists(api, kinds.NESTED_CLASS, class_name, "", is_full)
        (member,) = status_of(found)["pool"]
        warm = await see_page(api, web, "quick", namespace, class_name)
        await api.patch(kinds.NESTED_CLASS, class_name, None, {"spec": {"pool": 0}})
        job = await job_with(api, "quick", namespace, conditions.READY, "True")
        where = job["status"]["namespace"]
        assert where == member["namespace"]
        pods = await api.list(kinds.POD, where, labels=labels.selector(component="app"))
        assert {labels_of(pod)[labels.JOB] for pod in pods} == {"quick"}, "its syncer was there before the job"
        cold = await see_page(api, web, "cold", namespace, class_name)
        print(f"hello-world answers after {warm:.1f} s from a pool, and after {cold:.1f} s without one")
        await api.delete(kinds.NESTED_APP_JOB, "quick", namespace)
        await gone(api, kinds.NESTED_APP_JOB, "quick", namespace)
