"""Deletion leaves nothing in the host cluster, whenever it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Conflict, Kind, kinds
from nestor.objects import labels_of
from tests.e2e.conftest import Web, apply, example, inline_job
from tests.waiting import eventually, job_with, wait_for, wait_for_none

Object = dict[str, Any]

CONTROLLER_REVISION = Kind("apps", "v1", "controllerrevisions", "ControllerRevision")
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease")
PERSISTENT_VOLUME = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)

OTHERS = (
    "team-",
    "nestor-team-",
    "nestor-probe-",
    "devcluster-",
    "default/hello",
    "nestor-default-hello-",
    "keep-",
    "kube-node-lease/",
    "nestor-uninstall",
    "nestor-system/nestor-uninstall",
    "argocd",
    "conformance",
    "nestor-conformance-",
    "monitoring",
    "metrics-server",
    "kube-system/metrics-server",
    "pvc-",
    "volumes/volume-",
)
"""Names of what tests beside these have: users' namespaces, their jobs' ones, the demo, volumes and what makes them, leases of
virtual nodes, the chart's hook, Argo CD, conformance tests, Prometheus, metrics-server."""
BESIDE_THE_OPERATOR = (
    "Pod nestor-system/nestor-",
    "Secret nestor-system/sh.helm.release.",
    "Secret nestor-system/tls-",
    "Secret nestor-system/overflow-",
    "ConfigMap nestor-system/array-templates",
)
"""In its namespace: its pods and releases come and go with upgrades, and other tests put things there."""
WATCHED = [
    CONTROLLER_REVISION,
    LEASE,
    PERSISTENT_VOLUME,
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


async def inventory(api: Api, namespace: str) -> set[str]:
    """Every object of the kinds that a job makes, in the whole host cluster: the user's `namespace`, the operator's, all others.

    Not what tests beside this one have (`OTHERS`, `BESIDE_THE_OPERATOR`), nor what belongs to their backends.
    """
    found = set()
    for kind in WATCHED:
        for item in await api.list(kind):
            meta = item["metadata"]
            place = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
            line = f"{kind.name} {place}"
            is_own = place.startswith((namespace, f"nestor-{namespace}-"))
            is_others = place.startswith(OTHERS) or line.startswith(BESIDE_THE_OPERATOR) or labels.BACKEND in labels_of(item)
            if is_own or not is_others:
                found.add(line)
    return found


async def delete_and_await(api: Api, name: str, namespace: str) -> None:
    """Delete a job and await its end; the limit is far above what it takes, how long it takes is measured elsewhere."""
    job = await api.get(kinds.NESTED_APP_JOB, name, namespace)
    await api.delete(kinds.NESTED_APP_JOB, name, namespace)
    await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, lambda found: found is None, limit=60)
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]), limit=5)


async def test_a_finished_job_leaves_the_host_as_it_was(api: Api, namespace: str, web: Web) -> None:
    before = await inventory(api, namespace)
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert "Hello" in await web.page(job["status"]["url"])
    during = await inventory(api, namespace)
    assert len(during - before) > 10
    await delete_and_await(api, "hello", namespace)
    assert await inventory(api, namespace) == before


@pytest.mark.parametrize(
    ("condition", "status"),
    [(conditions.ADMITTED, "True"), (conditions.CLUSTER_READY, "True"), (conditions.STEPS_APPLIED, "True")],
)
async def test_a_job_can_be_deleted_in_every_phase(api: Api, namespace: str, condition: str, status: str) -> None:
    before = await inventory(api, namespace)
    await apply(api, example("01-hello-world", "early", namespace))
    await job_with(api, "early", namespace, condition, status)
    await delete_and_await(api, "early", namespace)
    assert await inventory(api, namespace) == before


async def test_a_job_can_be_deleted_at_once_and_when_refused(api: Api, namespace: str) -> None:
    before = await inventory(api, namespace)
    await apply(api, example("01-hello-world", "blink", namespace))
    await api.delete(kinds.NESTED_APP_JOB, "blink", namespace)
    refused = inline_job("refused", namespace, {"a.yml": ""})
    refused[1]["spec"]["className"] = "none"
    await apply(api, refused)
    await job_with(api, "refused", namespace, conditions.ADMITTED, "False")
    await api.delete(kinds.NESTED_APP_JOB, "refused", namespace)
    await wait_for_none(api, kinds.NESTED_APP_JOB, namespace, limit=60)
    await api.delete(kinds.CONFIG_MAP, "refused-files", namespace)

    async def is_as_before() -> bool:
        return await inventory(api, namespace) == before

    # A deletion in the very moment of our finalizer may win over it; what was made by then is swept.
    await eventually(is_as_before, 60)


@pytest.fixture
async def operator_down(api: Api) -> AsyncIterator[Any]:
    """Functions to stop and start the operator; started again in any case."""

    async def scale(replicas: int) -> None:
        await api.patch(kinds.DEPLOYMENT, "nestor", "nestor-system", {"spec": {"replicas": replicas}})
        await wait_for(
            api,
            kinds.DEPLOYMENT,
            "nestor",
            "nestor-system",
            lambda found: found is not None and found["status"].get("readyReplicas", 0) == replicas,
            limit=60,
        )
        if replicas == 0:
            await wait_for_none(api, kinds.POD, "nestor-system", labels="app.kubernetes.io/name=nestor", limit=60)

    yield scale
    await scale(1)


@pytest.mark.alone
async def test_jobs_that_go_while_the_operator_is_down_leave_nothing_when_it_is_back(
    api: Api, namespace: str, operator_down: Any
) -> None:
    before = await inventory(api, namespace)
    for name in ("deleted", "torn"):
        await apply(api, example("01-hello-world", name, namespace))
    for name in ("deleted", "torn"):
        job = await job_with(api, name, namespace, conditions.READY, "True")
    await operator_down(0)
    for name in ("deleted", "torn"):
        await api.delete(kinds.NESTED_APP_JOB, name, namespace)
    # Somebody removes one's finalizer by hand: the usual way to make a mess of an operator that is away.
    try:
        await api.patch(kinds.NESTED_APP_JOB, "torn", namespace, {"metadata": {"finalizers": None}})
    except Conflict:
        await api.patch(kinds.NESTED_APP_JOB, "torn", namespace, {"metadata": {"finalizers": None}})
    await wait_for(api, kinds.NESTED_APP_JOB, "torn", namespace, lambda found: found is None, limit=30)
    await operator_down(1)
    await wait_for(api, kinds.NESTED_APP_JOB, "deleted", namespace, lambda found: found is None, limit=60)
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]), limit=60)
    # The Secret beside the user's job is found by nobody any more: its owner is the job, so the host's collector takes it.
    await wait_for(api, kinds.SECRET, "torn-kubeconfig", namespace, lambda found: found is None, limit=60)
    assert await inventory(api, namespace) == before
