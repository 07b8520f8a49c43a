"""Users' own NestedClusters are suspended like those of jobs, and keep their data if they have a volume."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.policy import Policy
from nestor.kube import Api, RetryLater, kinds
from nestor.operator.clusters.status import write_status
from nestor.times import timestamp
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import PERSISTENCE, tell, until_replicas
from tests.integration.operator.test_cluster import build_cluster
from tests.integration.operator.world import Object, message_of
from tests.waiting import has, wait_for

CLAIM = "data-own-k3s-0"


def is_gone(found: Object | None) -> bool:
    """The object is not there."""
    return found is None


async def cluster_saying(api: Api, name: str, namespace: str, text: str) -> Object:
    """Await a cluster whose `Admitted` has this in its message."""

    def is_it(found: Object | None) -> bool:
        said = conditions.find((found or {}).get("status", {}).get("conditions"), conditions.ADMITTED)
        return bool(said and text in said["message"])

    found = await wait_for(api, kinds.NESTED_CLUSTER, name, namespace, is_it)
    assert found is not None
    return found


async def say_ready(api: Api, name: str, namespace: str) -> None:
    """What the syncer writes, in its way: by server-side apply, over whatever is there."""
    ready = {"type": "Ready", "status": "True", "reason": "Synced", "message": "ok", "lastTransitionTime": timestamp()}
    body = {"metadata": {"name": name, "namespace": namespace}, "status": {"conditions": [ready], "suspended": False}}
    await api.apply(kinds.NESTED_CLUSTER, body, subresource="status")


async def suspend(api: Api, name: str, namespace: str, *, is_suspended: bool = True) -> None:
    """What the user wants."""
    await api.patch(kinds.NESTED_CLUSTER, name, namespace, {"spec": {"suspend": is_suspended}})


async def test_a_cluster_with_a_volume_rests_without_its_server(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("own", namespace, persistence=PERSISTENCE))
    await wait_for(api, kinds.POD, "own-k3s-0", namespace, bool)
    await say_ready(api, "own", namespace)
    claim = await api.get(kinds.PERSISTENT_VOLUME_CLAIM, CLAIM, namespace)
    await suspend(api, "own", namespace)
    await cluster_saying(api, "own", namespace, "suspended: its pods are being stopped")
    await tell(api, "own", namespace, suspended=True)
    await until_replicas(api, "own", namespace, 0)
    await wait_for(api, kinds.POD, "own-k3s-0", namespace, is_gone)
    await cluster_saying(api, "own", namespace, f"its data stays in PersistentVolumeClaim '{CLAIM}'")
    await wait_for(api, kinds.NESTED_CLUSTER, "own", namespace, has(conditions.READY, "False", conditions.SUSPENDED))
    await suspend(api, "own", namespace, is_suspended=False)
    await until_replicas(api, "own", namespace, 1)
    await wait_for(api, kinds.NESTED_CLUSTER, "own", namespace, has(conditions.READY, "False", conditions.RESUMING))
    await wait_for(api, kinds.POD, "own-k3s-0", namespace, bool)
    again = await api.get(kinds.PERSISTENT_VOLUME_CLAIM, CLAIM, namespace)
    assert again["metadata"]["uid"] == claim["metadata"]["uid"]
    await say_ready(api, "own", namespace)
    await suspend(api, "own", namespace, is_suspended=True)
    await cluster_saying(api, "own", namespace, "suspended")
    found = await wait_for(api, kinds.NESTED_CLUSTER, "own", namespace, has(conditions.READY, "True", "Synced"))
    assert found is not None


async def test_what_the_syncer_said_meanwhile_is_not_written_over(lonely: Api) -> None:
    created = await lonely.create(kinds.NESTED_CLUSTER, build_cluster("young", "default"))
    stand_in = Condition(conditions.READY, "False", conditions.RESUMING, "its control plane is starting again")
    await write_status(lonely, created, Policy(), [stand_in])
    seen = await lonely.get(kinds.NESTED_CLUSTER, "young", "default")
    assert has(conditions.READY, "False", conditions.RESUMING)(seen)
    await say_ready(lonely, "young", "default")
    with pytest.raises(RetryLater):
        await write_status(lonely, seen, Policy(), [replace(stand_in, message="it still is")])
    assert has(conditions.READY, "True", "Synced")(await lonely.get(kinds.NESTED_CLUSTER, "young", "default"))
    await lonely.delete(kinds.NESTED_CLUSTER, "young", "default")


async def test_a_cluster_without_one_keeps_its_server(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("plain", namespace))
    await wait_for(api, kinds.POD, "plain-k3s-0", namespace, bool)
    await suspend(api, "plain", namespace)
    await tell(api, "plain", namespace, suspended=True)
    await cluster_saying(api, "plain", namespace, "its control plane keeps running because its data lives in its pod")
    assert (await api.get(kinds.STATEFUL_SET, "plain-k3s", namespace))["spec"]["replicas"] == 1


async def test_the_volume_goes_with_its_cluster_and_a_namesake_gets_another(operator: Operator, api: Api, namespace: str) -> None:
    await api.create(kinds.NESTED_CLUSTER, build_cluster("own", namespace, persistence=PERSISTENCE))
    await wait_for(api, kinds.POD, "own-k3s-0", namespace, bool)
    before = await api.get(kinds.PERSISTENT_VOLUME_CLAIM, CLAIM, namespace)
    await api.delete(kinds.NESTED_CLUSTER, "own", namespace)
    await wait_for(api, kinds.NESTED_CLUSTER, "own", namespace, is_gone)
    await api.create(kinds.NESTED_CLUSTER, build_cluster("own", namespace, persistence=PERSISTENCE))

    def is_another(found: Object | None) -> bool:
        return bool(found and found["metadata"]["uid"] != before["metadata"]["uid"])

    await wait_for(api, kinds.PERSISTENT_VOLUME_CLAIM, CLAIM, namespace, is_another)
    await api.delete(kinds.NESTED_CLUSTER, "own", namespace)
    await wait_for(api, kinds.PERSISTENT_VOLUME_CLAIM, CLAIM, namespace, is_gone)


async def test_a_users_own_volume_is_not_taken(operator: Operator, api: Api, namespace: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "theirs"}
    await api.create(kinds.PERSISTENT_VOLUME_CLAIM, {"metadata": {"name": CLAIM, "namespace": namespace}, "spec": spec})
    await api.create(kinds.NESTED_CLUSTER, build_cluster("own", namespace, persistence=PERSISTENCE))
    refused = has(conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED)
    cluster = await wait_for(api, kinds.NESTED_CLUSTER, "own", namespace, refused)
    assert cluster is not None
    assert f"PersistentVolumeClaim '{CLAIM}'" in message_of(cluster, conditions.ADMITTED)
    await operator.heard(api)
    assert await api.find(kinds.STATEFUL_SET, "own-k3s", namespace) is None
