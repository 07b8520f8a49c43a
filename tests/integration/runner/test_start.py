"""The first second of a cluster's life, held still: no controllers, until the test makes what they would."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor.api.contracts.cluster import ROOT_CA
from nestor.api.contracts.runner import Exit
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.runner.conftest import Stage

POD = """
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: default}
spec: {containers: [{name: main, image: docker.io/library/busybox:1.35}]}
"""


@pytest.fixture
async def young(stage: Stage, tmp_path: Path) -> AsyncIterator[Stage]:
    async with apiserver.running(with_controllers=False) as plane, await Api.connect(str(plane.kubeconfig)) as api:
        yield Stage(stage.command, api, plane.kubeconfig, tmp_path, stage.running)


@pytest.mark.slow
async def test_a_bare_pod_without_retries_does_not_fail_because_the_cluster_is_young(young: Stage) -> None:
    young.write(service="apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 1}]}\n", pod=POD)
    runner = await young.start(young.plan({"name": "service"}, {"name": "pod"}))
    await runner.wait_for_line("[service] succeeded")
    await runner.wait_for_line("[pod] the cluster was still starting")
    # A seeded cluster has its accounts from the start: they tell nothing.
    await young.api.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": "default", "namespace": "default"}})
    await young.api.create(kinds.CONFIG_MAP, {"metadata": {"name": ROOT_CA, "namespace": "default"}})
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert await young.states() == [("Succeeded", 1), ("Succeeded", 1)]
