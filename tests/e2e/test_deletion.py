"""Deletion leaves nothing in the host cluster, whenever it comes."""

import json

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, Kind, kinds
from tests.e2e.conftest import Web, apply, example
from tests.waiting import gone, job_with, wait_for_none

CONTROLLER_REVISION = Kind("apps", "v1", "controllerrevisions", "ControllerRevision")

WATCHED = [
    CONTROLLER_REVISION,
    kinds.LEASE,
    kinds.PERSISTENT_VOLUME,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.RESOURCE_QUOTA,
    kinds.LIMIT_RANGE,
    kinds.NAMESPACE,
    kinds.POD,
    kinds.SERVICE,
    kinds.CONFIG_MAP,
    kinds.SECRET,
    kinds.SERVICE_ACCOUNT,
    kinds.STATEFUL_SET,
    kinds.ENDPOINT_SLICE,
    kinds.INGRESS,
    kinds.NETWORK_POLICY,
    kinds.ROLE_BINDING,
    kinds.CLUSTER_ROLE,
    kinds.CLUSTER_ROLE_BINDING,
    kinds.NESTED_APP_JOB,
    kinds.NESTED_CLUSTER,
    kinds.NODE,
]


async def inventory(api: Api, namespace: str, job: Object | None = None) -> set[str]:
    """Every object in the whole host cluster, of the kinds that a job makes, that has the user's `namespace`, or the UID or
    the home of the `job`, in its name, labels, owners or anywhere else. No other test has these.
    """
    marks = [namespace, *([job["metadata"]["uid"], job["status"]["namespace"]] if job else [])]
    found = set()
    for kind in WATCHED:
        for item in await api.list(kind):
            meta, text = item["metadata"], json.dumps(item)
            if any(mark in text for mark in marks):
                found.add(f"{kind.name} {meta.get('namespace', '')}/{meta['name']}")
    return found


async def delete_and_await(api: Api, name: str, namespace: str) -> None:
    """Delete a job and await its end, and then that of its empty namespace."""
    job = await api.get(kinds.NESTED_APP_JOB, name, namespace)
    await api.delete(kinds.NESTED_APP_JOB, name, namespace)
    await gone(api, kinds.NESTED_APP_JOB, name, namespace)
    assert await api.list(kinds.POD, job["status"]["namespace"]) == []
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]))


async def test_a_finished_job_leaves_the_host_as_it_was(api: Api, namespace: str, web: Web) -> None:
    before = await inventory(api, namespace)
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert "Hello" in await web.page(job["status"]["url"])
    during = await inventory(api, namespace, job)
    assert len(during - before) > 10
    await delete_and_await(api, "hello", namespace)
    assert await inventory(api, namespace, job) == before
