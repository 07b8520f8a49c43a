"""NestedClusters that users made: the same cluster, in the user's own namespace, without a job."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import Object, be_syncer, message_of
from tests.waiting import has, wait_for


def build_cluster(name: str, namespace: str, **spec: Any) -> Object:
    """A cluster of a user."""
    return {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedCluster",
        "spec": spec,
        "metadata": {"name": name, "namespace": namespace},
    }


async def test_a_cluster_gets_its_pod_and_its_kubeconfig(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("mine", namespace))
    await wait_for(api, kinds.POD, "mine-k3s-0", namespace, lambda found: found is not None)
    cluster = await wait_for(api, kinds.NESTED_CLUSTER, "mine", namespace, has(conditions.ADMITTED, "True"))
    assert cluster is not None
    assert cluster["status"]["kubeconfigSecretName"] == "mine-kubeconfig"
    secret = await api.get(kinds.SECRET, "mine-kubeconfig", namespace)
    kubeconfig = json.loads(base64.b64decode(secret["data"]["kubeconfig"]))
    service = await api.get(kinds.SERVICE, "mine-k3s", namespace)
    assert kubeconfig["clusters"][0]["cluster"]["server"] == f"https://{service['spec']['clusterIP']}"
    await operator.heard(api)
    assert await api.find(kinds.POD, "mine-run", namespace) is None


async def test_the_syncers_status_and_ours_live_side_by_side(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("both", namespace))
    await wait_for(api, kinds.NESTED_CLUSTER, "both", namespace, has(conditions.ADMITTED, "True"))
    await be_syncer(api, "both", namespace)
    await operator.heard(api)
    cluster = await api.get(kinds.NESTED_CLUSTER, "both", namespace)
    assert conditions.is_true(cluster["status"]["conditions"], conditions.READY)


async def test_an_unknown_version_is_refused_with_the_known_ones(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("old", namespace, kubernetesVersion="v1.9"))
    cluster = await wait_for(
        api, kinds.NESTED_CLUSTER, "old", namespace, has(conditions.ADMITTED, "False", conditions.VERSION_UNSUPPORTED)
    )
    assert cluster is not None
    assert "available: v1.35, v1.36" in message_of(cluster, conditions.ADMITTED)


async def test_a_cluster_made_again_at_once_does_not_take_over_the_former_ones_keys(
    operator: Operator, api: Api, namespace: str
) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("again", namespace))
    await wait_for(api, kinds.POD, "again-k3s-0", namespace, lambda found: found is not None)
    before = await api.get(kinds.SECRET, "again-pki", namespace)
    await api.delete(kinds.NESTED_CLUSTER, "again", namespace)
    await wait_for(api, kinds.NESTED_CLUSTER, "again", namespace, lambda found: found is None)
    cluster = await api.create(kinds.NESTED_CLUSTER, build_cluster("again", namespace))

    def is_its_own(found: Object | None) -> bool:
        owners = found["metadata"].get("ownerReferences", []) if found else []
        return [owner["uid"] for owner in owners] == [cluster["metadata"]["uid"]]

    secret = await wait_for(api, kinds.SECRET, "again-pki", namespace, is_its_own)
    assert secret is not None
    assert secret["data"] != before["data"]
    await wait_for(api, kinds.STATEFUL_SET, "again-k3s", namespace, is_its_own)


async def test_what_the_host_refuses_is_told(operator: Operator, api: Api, namespace: str) -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    await api.create(kinds.NESTED_CLUSTER, build_cluster("greedy", namespace, resources=resources))
    is_refused = has(conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED)
    cluster = await wait_for(api, kinds.NESTED_CLUSTER, "greedy", namespace, is_refused)
    assert cluster is not None
    assert "must be less than or equal to memory limit" in message_of(cluster, conditions.ADMITTED)


@pytest.mark.parametrize(
    "marks", [{labels.JOB: "nobody"}, {labels.JOB: "nobody", labels.JOB_NAMESPACE: "nowhere", labels.JOB_UID: "1"}]
)
async def test_a_cluster_that_is_labelled_like_a_jobs_later_on_can_be_deleted(
    operator: Operator, api: Api, namespace: str, marks: dict[str, str]
) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("changed", namespace))
    await wait_for(api, kinds.NESTED_CLUSTER, "changed", namespace, has(conditions.ADMITTED, "True"))
    await api.patch(kinds.NESTED_CLUSTER, "changed", namespace, {"metadata": {"labels": marks}})
    await api.delete(kinds.NESTED_CLUSTER, "changed", namespace)
    await wait_for(api, kinds.NESTED_CLUSTER, "changed", namespace, lambda found: found is None)


async def test_everything_of_a_deleted_cluster_goes(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("brief", namespace))
    await wait_for(api, kinds.POD, "brief-k3s-0", namespace, lambda found: found is not None)
    await wait_for(api, kinds.NESTED_CLUSTER, "brief", namespace, has(conditions.ADMITTED, "True"))
    bindings = {item["metadata"]["name"] for item in await api.list(kinds.CLUSTER_ROLE_BINDING)}
    assert any(f"{namespace}-brief" in name for name in bindings)
    await api.delete(kinds.NESTED_CLUSTER, "brief", namespace)
    await wait_for(api, kinds.NESTED_CLUSTER, "brief", namespace, lambda found: found is None)
    for kind in (kinds.POD, kinds.STATEFUL_SET, kinds.SERVICE, kinds.SECRET, kinds.NETWORK_POLICY, kinds.ROLE_BINDING):
        for name in ("brief-k3s-0", "brief-k3s", "brief-dns", "brief-pki", "brief-kubeconfig", "brief-deny", "brief-syncer"):
            await wait_for(api, kind, name, namespace, lambda found: found is None)
    bindings = {item["metadata"]["name"] for item in await api.list(kinds.CLUSTER_ROLE_BINDING)}
    assert not any(f"{namespace}-brief" in name for name in bindings)


async def test_what_is_not_the_clusters_is_never_taken_over(operator: Operator, api: Api, namespace: str) -> None:
    theirs = {"podSelector": {}, "policyTypes": ["Ingress"]}
    await api.apply(kinds.NETWORK_POLICY, {"metadata": {"name": "default-deny", "namespace": namespace}, "spec": theirs})
    await api.create(kinds.NESTED_CLUSTER, build_cluster("default", namespace))
    refused = has(conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED)
    cluster = await wait_for(api, kinds.NESTED_CLUSTER, "default", namespace, refused)
    assert cluster is not None
    assert "NetworkPolicy 'default-deny'" in message_of(cluster, conditions.ADMITTED)
    untouched = await api.get(kinds.NETWORK_POLICY, "default-deny", namespace)
    assert untouched["spec"] == theirs
    await operator.heard(api)
    assert await api.find(kinds.SERVICE, "default-k3s", namespace) is None


async def test_a_namespace_holds_one_cluster_of_a_user(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("a", namespace))
    await wait_for(api, kinds.NESTED_CLUSTER, "a", namespace, has(conditions.ADMITTED, "True"))
    await api.create(kinds.NESTED_CLUSTER, build_cluster("b", namespace))
    refused = has(conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED)
    second = await wait_for(api, kinds.NESTED_CLUSTER, "b", namespace, refused)
    assert second is not None
    assert "NestedCluster 'a' already uses this namespace" in message_of(second, conditions.ADMITTED)
