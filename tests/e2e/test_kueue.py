"""Kueue in the cluster, installed by its own chart: two ClusterQueues, and jobs that wait, run, are preempted and run again."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from devcluster import build
from devcluster.build import assembled
from devcluster.progress import Console
from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.e2e.conftest import Object, Web, apply, change_nestor, class_like_default, example, helm, push_images
from tests.integration.operator import kueue
from tests.waiting import exists, gone, has, job_with, message_of, wait_for_none

pytestmark = pytest.mark.alone  # its webhooks see each Job of the host, and the operator restarts

QUEUES = ("busy", "quiet")
RELEASE = ("-n", kueue.NAMESPACE, "--wait", "--timeout=3m")


@pytest.fixture
async def queues(api: Api, kubeconfig: Path, namespace: str) -> AsyncIterator[tuple[str, ...]]:
    """Two ClusterQueues with room for one job each, and the LocalQueues of the same names."""
    push_images(build.ensure(Console(), "kueue"))
    repository, tag = assembled.KUEUE.rsplit(":", 1)
    image = {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"}
    settings = {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration", **kueue.KUEUE.settings}
    settings |= {"webhook": {"port": 9443}, "health": {"healthProbeBindAddress": ":8081"}, "featureGates": {}}
    values = {
        "controllerManager": {"manager": {"image": image, "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}},
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(settings)},
    }
    chart = str(kueue.KUEUE.source / "charts/kueue")
    install = ("upgrade", "--install", "kueue", chart, *RELEASE, "--create-namespace", "--values", "-")
    await helm(kubeconfig, *install, stdin=json.dumps(values))
    print(f"kueue {kueue.KUEUE.version} runs")
    await change_nestor(kubeconfig, "kueue.enabled=true")
    await api.apply(kueue.FLAVOR, {"metadata": {"name": "any"}, "spec": {}})
    await api.apply(kueue.PRIORITY, {"metadata": {"name": "high"}, "value": 1000})
    amounts = [{"name": "cpu", "nominalQuota": "1700m"}, {"name": "memory", "nominalQuota": "3Gi"}]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": amounts}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups, "preemption": {"withinClusterQueue": "LowerPriority"}}
    for name in QUEUES:
        await api.apply(kueue.CLUSTER_QUEUE, {"metadata": {"name": name}, "spec": spec})
        await api.apply(kueue.LOCAL_QUEUE, {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": name}})
    yield QUEUES
    for job in await api.list(kinds.NESTED_APP_JOB, namespace):
        await api.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace)
        await gone(api, kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace)
    for name in QUEUES:
        await api.delete(kueue.LOCAL_QUEUE, name, namespace)
        await api.delete(kueue.CLUSTER_QUEUE, name)
        await gone(api, kueue.CLUSTER_QUEUE, name, "")
    await api.delete(kueue.FLAVOR, "any")
    await gone(api, kueue.FLAVOR, "any", "")
    await change_nestor(kubeconfig, "kueue.enabled=false")
    await helm(kubeconfig, "uninstall", "kueue", *RELEASE)


async def test_jobs_wait_run_are_preempted_and_run_again(api: Api, namespace: str, web: Web, queues: tuple[str, ...]) -> None:
    busy, quiet = queues
    amounts = {"requests.cpu": "1", "requests.memory": "2Gi"}
    small = {"requests": {"cpu": "10m", "memory": "32Mi"}}
    parts = {"queue": {"kueue": "Require"}, "namespace": {"quota": amounts, "defaultResources": small}}
    async with class_like_default(api, "kueue", **parts) as class_name:

        async def create(name: str, queue: str, **more: str) -> None:
            documents = example("01-hello-world", name, namespace)
            documents[-1]["spec"]["className"] = class_name
            documents[-1]["metadata"]["labels"] = {labels.KUEUE_QUEUE: queue, **more}
            await apply(api, documents)

        async def answers(name: str) -> str:
            job = await job_with(api, name, namespace, conditions.READY, "True")
            assert "Hello" in await web.page(job["status"]["url"])
            return str(job["status"]["namespace"])

        async def waits(name: str, text: str) -> None:
            def is_told(job: Object) -> bool:
                told = has(conditions.ADMITTED, "False", conditions.QUEUED)(job)
                return told and text in message_of(job, conditions.ADMITTED)

            await exists(api, kinds.NESTED_APP_JOB, name, namespace, is_told)

        await create("first", busy)
        where = await answers("first")
        await create("second", busy)
        await waits("second", "insufficient")
        await create("beside", quiet)
        await answers("beside")

        await create("urgent", busy, **{labels.KUEUE_PRIORITY: "high"})
        await answers("urgent")
        await waits("first", "Preempted to accommodate")
        server = labels.selector(component=labels.COMPONENT_SERVER)
        await wait_for_none(api, kinds.POD, where, labels=server)  # Kueue counts it as free
        found = await api.get(kueue.CLUSTER_QUEUE, busy)
        assert {key: found["status"][key] for key in ("reservingWorkloads", "pendingWorkloads")} == {
            "reservingWorkloads": 1,
            "pendingWorkloads": 2,
        }

        await api.delete(kinds.NESTED_APP_JOB, "urgent", namespace)
        assert await answers("first") == where
        await waits("second", "insufficient")
