"""From each release to this one, as docs/admins.md says: what runs is left alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.chart import CHART
from tests.integration.operator.conftest import await_rights, operator_running
from tests.integration.operator.world import build_class
from tests.releases import JOB, SPACE, list_releases, restore
from tests.waiting import job_with, wait_for

VALUES = ("--set", "image.repository=nestor.test/nestor", "--set", "defaultClass.create=false")


@pytest.fixture
async def upgrade_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane without Nestor, except for its definitions."""
    async with apiserver.running() as plane:
        yield plane


async def run(plane: apiserver.ControlPlane, program: str, *arguments: str) -> None:
    """One of the admin's commands."""
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "HOME": str(plane.folder)}
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    async with children.running(str(apiserver.binary(program)), *arguments, env=environment, **streams) as process:
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


@pytest.mark.slow
@pytest.mark.parametrize("version", list_releases())
async def test_running_jobs_are_left_alone(upgrade_plane: apiserver.ControlPlane, version: str) -> None:
    async with await Api.connect(str(upgrade_plane.kubeconfig), manager="nestor") as api:
        await run(upgrade_plane, "helm", "install", "nestor", str(CHART), "-n", "nestor-system", "--create-namespace", *VALUES)
        await api.apply(kinds.NESTED_CLASS, build_class())
        await api.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
        before = await restore(api, version)
        home = before["status"]["namespace"]
        kept = await _find_uids(api, home)

        await run(upgrade_plane, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(CHART / "crds"))
        await run(upgrade_plane, "helm", "upgrade", "nestor", str(CHART), "-n", "nestor-system", *VALUES)
        await await_rights(upgrade_plane)
        async with operator_running(upgrade_plane, more={"NESTOR_IMAGE": "nestor.test/nestor:next"}):
            # It has looked at all of it when what the next pod is to run has changed.
            await wait_for(api, kinds.STATEFUL_SET, f"{JOB}-k3s", home, lambda found: "nestor.test/nestor:next" in str(found))
            after = await job_with(api, JOB, SPACE, conditions.READY, "True")
        assert await _find_uids(api, home) == kept
        assert after["status"]["url"] == before["status"]["url"]
        states = [[(step["name"], step["state"], step["attempt"]) for step in job["status"]["steps"]] for job in (before, after)]
        assert states[0] == states[1]
        assert "restarts" not in after["status"] or after["status"]["restarts"] == before["status"].get("restarts")


async def _find_uids(api: Api, home: str) -> dict[str, str]:
    """Of what would not be the same if it was made again."""
    found = [await api.get(kinds.NAMESPACE, home), await api.get(kinds.NESTED_CLUSTER, JOB, home)]
    for kind in (kinds.POD, kinds.STATEFUL_SET, kinds.SERVICE, kinds.INGRESS):
        found += await api.list(kind, home)
    assert not [item for item in found if item["metadata"].get("deletionTimestamp")]
    return {f"{item['kind']} {item['metadata']['name']}": item["metadata"]["uid"] for item in found}
