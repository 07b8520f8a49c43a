"""The operator's part of a NestedCluster's status: one body, written only when it differs."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.api import conditions, data
from nestor.api.conditions import Condition
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.kube import Api, Conflict, Kind, RetryLater
from nestor.operator.clusters.status import write_status
from tests.unit.operator.builders import Object

ADMITTED = Condition(conditions.ADMITTED, "True", conditions.ADMITTED_REASON, "good")
SUSPENDED = Condition(conditions.READY, "False", conditions.SUSPENDED, "stopped")
BASELINE, PRIVILEGED = Policy(), Policy(pod_security="Privileged")


class FakeApi:
    """Answers an apply as the API server would, which keeps what other managers own."""

    def __init__(self, cluster: Object) -> None:
        self.cluster = cluster
        self.applied: list[Object] = []
        self.is_conflicting = False

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Note it."""
        assert subresource == "status"
        if self.is_conflicting:
            raise Conflict(409, "Conflict", "changed meanwhile")
        self.applied.append(body)
        mine = {item["type"] for item in body["status"].get("conditions", ())}
        others = [item for item in self.cluster["status"].get("conditions", ()) if item["type"] not in mine]
        status = self.cluster["status"] | body["status"] | {"conditions": [*others, *body["status"].get("conditions", ())]}
        self.cluster = {**self.cluster, "status": status}
        return self.cluster


def build(**status: Any) -> FakeApi:
    """A cluster with that status."""
    meta = {"name": "own", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 2}
    return FakeApi({"metadata": meta, "status": status})


async def write(api: FakeApi, policy: Policy, *found: Condition, kubeconfig: str | None = None) -> None:
    """One pass."""
    api.cluster = await write_status(cast(Api, api), api.cluster, policy, found, kubeconfig)


async def test_a_jobs_cluster_gets_its_policy_alone_and_once() -> None:
    api = build(kubernetesVersion="v1.36", conditions=[{"type": "Ready", "status": "True", "reason": "Synced"}])
    await write(api, BASELINE)
    await write(api, BASELINE)
    meta = {"name": "own", "namespace": "n", "uid": "u"}
    assert api.applied == [{"metadata": meta, "status": {"policy": data.write(BASELINE)}}]
    await write(api, PRIVILEGED)
    assert api.applied[-1]["status"] == {"policy": data.write(PRIVILEGED)}


async def test_what_somebody_else_wrote_into_it_is_written_over() -> None:
    api = build(policy={"podSecurity": "Privileged"})
    await write(api, BASELINE)
    assert api.cluster["status"]["policy"] == data.write(BASELINE)


async def test_a_users_cluster_gets_all_of_our_part_in_each_body() -> None:
    api = build()
    await write(api, BASELINE, ADMITTED, kubeconfig="own-kubeconfig")
    await write(api, BASELINE, ADMITTED, kubeconfig="own-kubeconfig")
    assert len(api.applied) == 1
    await write(api, PRIVILEGED, ADMITTED, kubeconfig="own-kubeconfig")
    status = api.applied[-1]["status"]
    assert [item["type"] for item in status["conditions"]] == [conditions.ADMITTED]
    assert status["kubeconfigSecretName"] == "own-kubeconfig"
    assert status["policy"] == data.write(PRIVILEGED)


async def test_ready_is_said_only_of_what_was_read() -> None:
    api = build()
    await write(api, BASELINE, ADMITTED)
    assert "resourceVersion" not in api.applied[0]["metadata"]
    await write(api, BASELINE, ADMITTED, SUSPENDED)
    assert api.applied[1]["metadata"]["resourceVersion"] == "7"
    api.is_conflicting = True
    with pytest.raises(RetryLater):
        await write(api, PRIVILEGED, ADMITTED, SUSPENDED)


async def test_no_node_selector_is_written_as_none_rather_than_as_an_empty_one() -> None:
    """Server-side apply makes null of a map whose last key goes, and the schema refuses that."""
    api = build()
    for selector in ({"pool": "gold"}, {}):
        await write(api, Policy(placement=Placement(node_selector=selector)), ADMITTED)
    with_pool, without = (body["status"]["policy"]["placement"] for body in api.applied)
    assert with_pool["nodeSelector"] == {"pool": "gold"}
    assert "nodeSelector" not in without
    assert data.read(Placement, without) == Placement()
