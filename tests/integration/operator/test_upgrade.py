"""From each release to this one, as docs/upgrade.md says: what runs is left alone."""

import copy
from collections.abc import AsyncIterator

import pytest

from nestor.api import conditions
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.chart import CHART
from tests.integration.operator.conftest import await_rights, operator_running
from tests.integration.operator.hooks import helm, hooks_running
from tests.integration.operator.world import build_class
from tests.releases import JOB, SPACE, list_releases, restore
from tests.waiting import job_with, wait_for

VALUES = ("--set", "image.repository=nestor.test/nestor", "--set", "defaultClass.create=false")


@pytest.fixture
async def upgrade_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane without Nestor, except for its definitions."""
    async with apiserver.running() as plane:
        yield plane


@pytest.mark.slow
@pytest.mark.parametrize("version", list_releases())
async def test_running_jobs_are_left_alone(upgrade_plane: apiserver.ControlPlane, version: str) -> None:
    async with await Api.connect(str(upgrade_plane.kubeconfig), manager="nestor") as api:
        code, output = await helm(upgrade_plane, "install", "nestor", str(CHART), "--create-namespace", *VALUES)
        assert code == 0, output
        await api.apply(kinds.NESTED_CLASS, build_class())
        await api.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
        before = await restore(api, version)
        home = before["status"]["namespace"]
        kept = await _find_uids(api, home)

        current = [
            await _make_older(api),
            *[await api.get(kinds.CRD, f"{name}.nestor.dev") for name in ("nestedapps", "nestedappjobs")],
        ]
        async with hooks_running(upgrade_plane, api) as outputs:
            code, output = await helm(upgrade_plane, "upgrade", "nestor", str(CHART), *VALUES)
        assert code == 0, output + "".join(outputs)
        for crd in current:
            assert (await api.get(kinds.CRD, crd["metadata"]["name"]))["spec"] == crd["spec"]
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


async def _make_older(api: Api) -> Object:
    """A definition without one of its columns and fields, and with a rule that is gone since. Gives it as it was."""
    crd = await api.get(kinds.CRD, "nestedclasses.nestor.dev")
    older = copy.deepcopy(crd)
    (version,) = older["spec"]["versions"]
    version["additionalPrinterColumns"].pop()
    schema = version["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["pool"]
    schema["x-kubernetes-validations"] = [{"rule": "self.metadata.name != 'forbidden'", "message": "of an older version"}]
    await api.replace(kinds.CRD, older)
    return crd


async def _find_uids(api: Api, home: str) -> dict[str, str]:
    """Of what would not be the same if it was made again."""
    found = [await api.get(kinds.NAMESPACE, home), await api.get(kinds.NESTED_CLUSTER, JOB, home)]
    for kind in (kinds.POD, kinds.STATEFUL_SET, kinds.SERVICE, kinds.INGRESS):
        found += await api.list(kind, home)
    assert not [item for item in found if item["metadata"].get("deletionTimestamp")]
    return {f"{item['kind']} {item['metadata']['name']}": item["metadata"]["uid"] for item in found}
