"""Helm and the chart: nothing is uninstalled that leaves finalizers or namespaces behind."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

import pytest

from nestor.api import labels
from nestor.api.objects import status_of
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.chart import CHART
from tests.integration.operator.conftest import ROOT, await_rights, operator_running
from tests.integration.operator.hooks import SYSTEM, helm, hooks_running
from tests.integration.operator.world import build_job, host_namespace
from tests.waiting import gone, wait_for, wait_for_any

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
async def helm_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane in which nothing of the chart is but its CustomResourceDefinitions."""
    async with apiserver.running() as plane:
        yield plane


@pytest.fixture
async def admin(helm_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with all rights."""
    async with await Api.connect(str(helm_plane.kubeconfig), manager="test") as client:
        yield client


async def install(plane: apiserver.ControlPlane, *values: str, program: str = "helm") -> None:
    """Install or upgrade the chart, without the images and the network policies that nobody runs or enforces here."""
    settings = ("--set", "image.repository=nestor.test/nestor", "--set", "defaultClass.network.unenforced=Warn", *values)
    code, output = await helm(
        plane, "upgrade", "--install", "nestor", str(CHART), "--create-namespace", *settings, program=program
    )
    assert code == 0, output


async def test_helm_uninstalls_nothing_while_there_are_jobs_or_deletes_them_if_told_to(
    helm_plane: apiserver.ControlPlane, admin: Api
) -> None:
    await install(helm_plane)
    await await_rights(helm_plane)
    await admin.apply(kinds.NAMESPACE, {"metadata": {"name": "team"}})
    async with operator_running(helm_plane), hooks_running(helm_plane, admin) as outputs:
        home = await host_namespace(admin, await admin.create(kinds.NESTED_APP_JOB, build_job("mine", "team")))

        code, _ = await helm(helm_plane, "uninstall", "nestor")
        assert code != 0
        assert "Nestor is not uninstalled: there are NestedAppJob team/mine" in outputs[-1]
        assert f"Namespace {home}" in outputs[-1]
        assert await admin.get(kinds.DEPLOYMENT, "nestor", SYSTEM)
        assert not (await admin.get(kinds.NESTED_APP_JOB, "mine", "team"))["metadata"].get("deletionTimestamp")

        # As the docs say: helm leaves a release that it has begun to uninstall in that state.
        code, output = await helm(helm_plane, "rollback", "nestor", "1")
        assert code == 0, output
        await install(helm_plane, "--set", "uninstall.jobs=Delete")
        code, output = await helm(helm_plane, "uninstall", "nestor")
        assert code == 0, output + outputs[-1]
    for kind in (kinds.NESTED_APP_JOB, kinds.NESTED_CLUSTER, kinds.OVERFLOW_BACKEND, kinds.NESTED_CLASS):
        assert await admin.list(kind) == [], kind.name
    assert await admin.list(kinds.NAMESPACE, labels=labels.JOB_UID) == []
    for kind in (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING):
        assert [item["metadata"]["name"] for item in await admin.list(kind) if "nestor" in item["metadata"]["name"]] == []
    assert await admin.find(kinds.DEPLOYMENT, "nestor", SYSTEM) is None
    assert await admin.find(kinds.CRD, "nestedappjobs.nestor.dev") is not None


@pytest.mark.parametrize("program", ["helm", "helm3"])
async def test_without_jobs_helm_installs_upgrades_and_uninstalls(
    helm_plane: apiserver.ControlPlane, admin: Api, program: str
) -> None:
    own = {"metadata": {"name": "pi"}, "spec": {"appDef": {"name": "Own", "appdefversion": 2, "commands": {}}}}
    before = await admin.apply(kinds.NESTED_APP, own)
    async with hooks_running(helm_plane, admin) as outputs:
        await install(helm_plane, program=program)
        await install(helm_plane, "--set", "operator.replicas=2", program=program)
        assert (await admin.get(kinds.DEPLOYMENT, "nestor", SYSTEM))["spec"]["replicas"] == 2
        assert "the definition of NestedClass is up to date" in outputs[-1]
        code, output = await helm(helm_plane, "uninstall", "nestor", program=program)
    assert code == 0, output + "".join(outputs)
    (left,) = await admin.list(kinds.NESTED_APP)
    assert left["metadata"]["uid"] == before["metadata"]["uid"], "an admin's own entry stays, without the sample of its name"
    await admin.delete(kinds.NESTED_APP, "pi")
    for name in ("nestor-uninstall", "nestor-upgrade"):
        assert await admin.find(kinds.SERVICE_ACCOUNT, name, SYSTEM) is None


async def test_helm_tests_that_an_operator_works(helm_plane: apiserver.ControlPlane, admin: Api) -> None:
    async with hooks_running(helm_plane, admin) as outputs:
        await install(helm_plane, "--set", "fullnameOverride=jobs", "--set", "commonLabels.team=a")
        await await_rights(helm_plane)
        async with operator_running(helm_plane) as operator:
            await operator.heard(admin)
            pod = await wait_for_any(admin, kinds.POD, SYSTEM, lambda _: True, labels="app.kubernetes.io/name=nestor")
            ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
            await admin.patch(kinds.POD, pod["metadata"]["name"], SYSTEM, ready, subresource="status")
            await wait_for(admin, kinds.DEPLOYMENT, "jobs", SYSTEM, lambda found: status_of(found).get("readyReplicas") == 1)
            code, output = await helm(helm_plane, "test", "nestor")
        assert code == 0, output + "".join(outputs)
        assert outputs[-1] == "1 of 1 operators are ready; classes that they have not seen: none\n"
        # Without an operator, the class stays as it is.
        await admin.patch(kinds.NESTED_CLASS, "default", None, {"spec": {"maxJobsPerNamespace": 7}})
        code, _ = await helm(helm_plane, "test", "nestor")
        assert code != 0
        assert outputs[-1] == "1 of 1 operators are ready; classes that they have not seen: default\n"
        code, output = await helm(helm_plane, "uninstall", "nestor")
        assert code == 0, output


async def test_a_cluster_has_one_release(helm_plane: apiserver.ControlPlane, admin: Api) -> None:
    async with hooks_running(helm_plane, admin):
        await install(helm_plane)
        values = ("--set", "image.repository=nestor.test/nestor", "--set", "fullnameOverride=second")
        code, output = await helm(helm_plane, "install", "second", str(CHART), *values)
        assert code != 0
        assert 'key "meta.helm.sh/release-name" must equal "second": current value is "nestor"' in output
        code, output = await helm(helm_plane, "uninstall", "nestor")
        assert code == 0, output


@pytest.mark.parametrize("known", [True, False])
async def test_it_says_what_it_does_not_get_rid_of(helm_plane: apiserver.ControlPlane, admin: Api, known: bool) -> None:
    """Without an operator, nothing goes; and of jobs that are gone, the namespace may be there."""
    name = "nestor-stuck-1"
    home = {"metadata": {"name": name, "labels": {labels.JOB_UID: "1"}}}
    await admin.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **home})
    if known:
        job = build_job("stuck", "default")
        job["metadata"]["finalizers"] = [labels.FINALIZER]
        await admin.create(kinds.NESTED_APP_JOB, job)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "KUBECONFIG": str(helm_plane.kubeconfig)}
    mode = ("--jobs", "Delete", "--limit", "1") if known else ()
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    command = (sys.executable, "-m", "nestor", "operator", "uninstall", *mode)
    async with children.running(*command, env=environment, **streams) as process:
        output, _ = await process.communicate()
    assert process.returncode == 1
    said = "not gone after 1 s: NestedAppJob default/stuck" if known else "jobs that are gone have left"
    assert said in output.decode()
    assert f"Namespace {name}" in output.decode()
    if known:
        await admin.patch(kinds.NESTED_APP_JOB, "stuck", "default", {"metadata": {"finalizers": []}})
    await admin.delete(kinds.NAMESPACE, name)
    await gone(admin, kinds.NAMESPACE, name, "")
