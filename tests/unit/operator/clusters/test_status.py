"""The operator's part of a NestedCluster's status: one body, written only when it differs."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.api import conditions, data
from nestor.api.conditions import Condition
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.kube import Api, Conflict, RetryLater, kinds
from nestor.operator.clusters.status import write_status
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import Object

ADMITTED = Condition(conditions.ADMITTED, "True", conditions.ADMITTED_REASON, "good")
SUSPENDED = Condition(conditions.READY, "False", conditions.SUSPENDED, "stopped")
BASELINE, PRIVILEGED = Policy(), Policy(pod_security="Privileged")


def build(**status: Any) -> MemoryApi:
    """With a cluster of that status."""
    api = MemoryApi()
    api.put(kinds.NESTED_CLUSTER, {"metadata": {"name": "own", "namespace": "n", "uid": "u", "generation": 2}, "status": status})
    return api


def look(api: MemoryApi) -> Object:
    """The cluster."""
    return api.look(kinds.NESTED_CLUSTER, "own", "n") or {}


async def write(api: MemoryApi, policy: Policy, *found: Condition, kubeconfig: str | None = None) -> None:
    """One pass."""
    await write_status(cast(Api, api), look(api), policy, found, kubeconfig)


async def test_a_jobs_cluster_gets_its_policy_alone_and_once() -> None:
    api = build(kubernetesVersion="v1.36", conditions=[{"type": "Ready", "status": "True", "reason": "Synced"}])
    await write(api, BASELINE)
    await write(api, BASELINE)
    meta = {"name": "own", "namespace": "n", "uid": "u"}
    assert api.bodies == [{"metadata": meta, "status": {"policy": data.write(BASELINE)}}]
    await write(api, PRIVILEGED)
    assert api.bodies[-1]["status"] == {"policy": data.write(PRIVILEGED)}


async def test_what_somebody_else_wrote_into_it_is_written_over() -> None:
    api = build(policy={"podSecurity": "Privileged"})
    await write(api, BASELINE)
    assert look(api)["status"]["policy"] == data.write(BASELINE)


async def test_a_users_cluster_gets_all_of_our_part_in_each_body() -> None:
    api = build()
    await write(api, BASELINE, ADMITTED, kubeconfig="own-kubeconfig")
    await write(api, BASELINE, ADMITTED, kubeconfig="own-kubeconfig")
    assert len(api.bodies) == 1
    await write(api, PRIVILEGED, ADMITTED, kubeconfig="own-kubeconfig")
    status = api.bodies[-1]["status"]
    assert [item["type"] for item in status["conditions"]] == [conditions.ADMITTED]
    assert status["kubeconfigSecretName"] == "own-kubeconfig"
    assert status["policy"] == data.write(PRIVILEGED)


async def test_ready_is_said_only_of_what_was_read() -> None:
    api = build()
    await write(api, BASELINE, ADMITTED)
    assert "resourceVersion" not in api.bodies[0]["metadata"]
    version = look(api)["metadata"]["resourceVersion"]
    await write(api, BASELINE, ADMITTED, SUSPENDED)
    assert api.bodies[1]["metadata"]["resourceVersion"] == version
    api.refusal = lambda *_: Conflict(409, "Conflict", "changed meanwhile")
    with pytest.raises(RetryLater):
        await write(api, PRIVILEGED, ADMITTED, SUSPENDED)


async def test_no_node_selector_is_written_as_none_rather_than_as_an_empty_one() -> None:
    """Server-side apply makes null of a map whose last key goes, and the schema refuses that."""
    api = build()
    for selector in ({"pool": "gold"}, {}):
        await write(api, Policy(placement=Placement(node_selector=selector)), ADMITTED)
    with_pool, without = (body["status"]["policy"]["placement"] for body in api.bodies)
    assert with_pool["nodeSelector"] == {"pool": "gold"}
    assert "nodeSelector" not in without
    assert data.read(Placement, without) == Placement()
