"""A user's own NestedCluster: made, suspended, resumed, deleted; and one that is refused."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from nestor.kube import kinds
from tests.integration.operator.lifetime import PERSISTENCE, tell, until_replicas
from tests.integration.operator.requests.conftest import Stage
from tests.integration.operator.test_cluster import build_cluster
from tests.integration.operator.test_cluster_rest import cluster_saying, say_ready, suspend
from tests.waiting import has, wait_for

pytestmark = pytest.mark.slow

SPACE = "requests-cluster"


async def test_requests(stage: Stage) -> None:
    api = stage.api
    await stage.set_up()
    async with stage.step("a cluster is created: everything is made"):
        await api.create(kinds.NESTED_CLUSTER, build_cluster("own", SPACE, className=SPACE, persistence=PERSISTENCE))
        await wait_for(api, kinds.POD, "own-k3s-0", SPACE, bool)
        await wait_for(api, kinds.NESTED_CLUSTER, "own", SPACE, has(conditions.ADMITTED, "True"))
    async with stage.step("it is ready"):
        await say_ready(api, "own", SPACE)
        await stage.recorder.settle()
    async with stage.step("it is suspended"):
        await suspend(api, "own", SPACE)
        await cluster_saying(api, "own", SPACE, "suspended: its pods are being stopped")
    async with stage.step("it is at rest"):
        await tell(api, "own", SPACE, suspended=True)
        await until_replicas(api, "own", SPACE, 0)
        await wait_for(api, kinds.POD, "own-k3s-0", SPACE, lambda found: found is None)
        await wait_for(api, kinds.NESTED_CLUSTER, "own", SPACE, has(conditions.READY, "False", conditions.SUSPENDED))
        await cluster_saying(api, "own", SPACE, "its data stays")
    async with stage.step("it is resumed"):
        await suspend(api, "own", SPACE, is_suspended=False)
        await until_replicas(api, "own", SPACE, 1)
        await wait_for(api, kinds.NESTED_CLUSTER, "own", SPACE, has(conditions.READY, "False", conditions.RESUMING))
        await wait_for(api, kinds.POD, "own-k3s-0", SPACE, bool)
    async with stage.step("a second one is refused"):
        await api.create(kinds.NESTED_CLUSTER, build_cluster("second", SPACE, className=SPACE))
        refused = has(conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED)
        await wait_for(api, kinds.NESTED_CLUSTER, "second", SPACE, refused)
    await _delete(stage, "second")
    # Its deletion makes the operator forget what it applied in the namespace; the next event, sent here, applies all again.
    await api.patch(kinds.NESTED_CLUSTER, "own", SPACE, {"metadata": {"labels": {"touched": "yes"}}})
    await stage.recorder.settle()
    async with stage.step("the first one is deleted"):
        await _delete(stage, "own")
    stage.check()


async def _delete(stage: Stage, name: str) -> None:
    await stage.api.delete(kinds.NESTED_CLUSTER, name, SPACE)
    await wait_for(stage.api, kinds.NESTED_CLUSTER, name, SPACE, lambda found: found is None)
