"""Gangs: pods that need each other go to one place, all of them, or none starts.

The backend is the embedded cluster's interLink plugin, which really runs containers. It has more CPUs to offer than any machine.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import devcluster.cluster
from devcluster.cluster import PluginInfo
from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from nestor.objects import Object, annotations_of, labels_of, status_of
from tests.e2e.conftest import apply, inline_job, kubectl, nested_kubeconfig
from tests.waiting import eventually, has, job_with, wait_for

pytestmark = [pytest.mark.alone, pytest.mark.long, pytest.mark.xdist_group("plugin")]

NOTHING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing, namespace: default}\n"
SIZE = 3
OFFER = {"cpu": "400", "memory": "64Gi", "pods": "50"}
"""What the backend has."""
FITS_THERE, FITS_NOWHERE = "100", "300"
"""CPUs of one pod: three of the first kind fit the backend, two of the second kind do not; neither fits a machine."""
LIMIT = 180


@pytest.fixture
def plugin(cluster: object) -> Iterator[PluginInfo]:
    """The plugin, with much to offer."""
    info = devcluster.cluster.plugin("up")
    info.client.reset()
    info.client.switch(resources=OFFER)
    yield info
    devcluster.cluster.plugin("down")


@pytest.fixture
async def backend(api: Api, plugin: PluginInfo) -> AsyncIterator[str]:
    """A backend whose virtual node takes pods."""
    name = f"gang-{uuid.uuid4().hex[:6]}"
    spec = {
        "type": "Interlink",
        "interlink": {"url": plugin.server_url, "statusPeriodSeconds": 1},
        "shapes": [{"name": "default", "capacity": OFFER}],
        "drainSeconds": 5,
    }
    kind = kinds.OVERFLOW_BACKEND
    await api.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec})
    await wait_for(api, kind, name, "", has(conditions.READY, "True"), limit=LIMIT)
    yield name
    await api.delete(kind, name)
    await wait_for(api, kind, name, "", lambda found: found is None, limit=LIMIT)


@pytest.fixture
async def gang_class(api: Api, backend: str) -> AsyncIterator[str]:
    """A class whose pods may overflow, and be gangs."""
    spec: Object = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    name = f"gang-{uuid.uuid4().hex[:6]}"
    home = {key: value for key, value in spec.get("namespace", {}).items() if key not in ("quota", "defaultResources")}
    places = {"overflow": {"backends": [{"name": backend}]}, "gang": {"warningSeconds": 5}}
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec | {"namespace": home, "placement": places}})
    yield name
    await api.delete(kinds.NESTED_CLASS, name)


@dataclass
class Inside:
    """A nested cluster, and its part of the host."""

    api: Api
    kubeconfig: Path
    home: str
    name: str
    namespace: str

    async def start(self, name: str, cpu: str) -> None:
        """A Job all of whose pods are one gang."""
        resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
        container = {"name": "main", "image": "docker.io/library/busybox:1.35", "resources": resources}
        container["command"] = ["sh", "-c", "exec sleep 3600"]
        template = {
            "metadata": {"annotations": {"nestor.dev/gang": name}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]},
        }
        spec = {"parallelism": SIZE, "completions": SIZE, "completionMode": "Indexed", "template": template}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        await kubectl(self.kubeconfig, "apply", "-f", "-", stdin=json.dumps(body))

    async def pods(self, job: str) -> list[Object]:
        """The nested pods of a Job."""
        found = await kubectl(self.kubeconfig, "get", "pods", "-l", f"job-name={job}", "-o", "json")
        items: list[Object] = json.loads(found)["items"]
        return items

    async def host_pods(self) -> list[Object]:
        """The host pods of the application."""
        return await self.api.list(kinds.POD, self.home, labels=labels.selector(component=labels.COMPONENT_APP))

    async def events(self, reason: str) -> list[str]:
        """Messages of a reason."""
        found = await kubectl(self.kubeconfig, "get", "events", f"--field-selector=reason={reason}", "-o", "json")
        return [item["message"] for item in json.loads(found)["items"]]


@pytest.fixture
async def inside(api: Api, namespace: str, gang_class: str, tmp_path: Path) -> Inside:
    """A job of the class, with an empty cluster."""
    documents = inline_job("training", namespace, {"nothing.yaml": NOTHING})
    documents[-1]["spec"]["className"] = gang_class
    await apply(api, documents)
    await job_with(api, "training", namespace, conditions.STEPS_APPLIED, "True")
    job = await job_with(api, "training", namespace, conditions.CLUSTER_READY, "True")
    kubeconfig = await nested_kubeconfig(api, job, tmp_path)
    await kubectl(kubeconfig, "wait", "--for=create", "serviceaccount/default", "--timeout=60s", limit=90)
    return Inside(api, kubeconfig, job["status"]["namespace"], "training", namespace)


async def test_a_gang_that_no_machine_of_the_host_has_room_for_goes_out_whole(inside: Inside, backend: str) -> None:
    await inside.start("train", FITS_THERE)

    async def all_run() -> list[Object] | None:
        pods = await inside.pods("train")
        return pods if [status_of(pod).get("phase") for pod in pods] == ["Running"] * SIZE else None

    pods = await eventually(all_run, limit=LIMIT)
    nodes = {node["metadata"]["name"]: labels_of(node) for node in await inside.api.list(kinds.NODE)}
    assert {nodes[pod["spec"]["nodeName"]].get(labels.BACKEND) for pod in pods} == {backend}
    for host in await inside.host_pods():
        assert not host["spec"].get("schedulingGates")
        assert annotations_of(host)[labels.PLACE_REASON] == f"backend '{backend}' has room for all 3 pods of gang 'default/train'"

    async def all_told() -> list[str] | None:
        found = await inside.events("PodOverflowed")
        return found if len(found) == SIZE else None

    told: list[str] = await eventually(all_told, limit=LIMIT)
    assert all(f"of backend '{backend}': backend '{backend}' has room for all 3 pods" in text for text in told)

    def is_counted(job: Any) -> bool:
        return {"name": backend, "running": SIZE, "starting": 0} in status_of(job).get("pods", {}).get("places", [])

    await wait_for(inside.api, kinds.NESTED_APP_JOB, inside.name, inside.namespace, is_counted, limit=LIMIT)


async def test_a_gang_that_fits_nowhere_starts_nothing_and_says_why(inside: Inside, backend: str, plugin: PluginInfo) -> None:
    await inside.start("huge", FITS_NOWHERE)

    async def warned() -> list[str] | None:
        found = await inside.events("GangWaiting")
        return found if len(found) == SIZE else None

    await eventually(warned, limit=LIMIT)
    expected = f"no place has room for all 3 pods of gang 'default/huge': the host cluster for 0, backend '{backend}' for 1"

    async def explained() -> bool:
        found = [conditions.find(status_of(pod).get("conditions"), "PodScheduled") or {} for pod in await inside.pods("huge")]
        return [item.get("message") for item in found] == [expected] * SIZE

    await eventually(explained, limit=LIMIT)
    hosts = await inside.host_pods()
    assert len(hosts) == SIZE
    assert not any(host["spec"].get("nodeName") for host in hosts)
    assert plugin.client.state()["pods"] == []

    # What it waits for is not kept from others: a gang that fits goes before it.
    await inside.start("small", FITS_THERE)

    async def all_run() -> bool:
        return [status_of(pod).get("phase") for pod in await inside.pods("small")] == ["Running"] * SIZE

    await eventually(all_run, limit=LIMIT)
    assert {status_of(pod).get("phase") for pod in await inside.pods("huge")} == {"Pending"}

    # Nothing of either is left.
    await kubectl(inside.kubeconfig, "delete", "job", "small", "huge", "--cascade=foreground")

    async def none_left() -> bool:
        return await inside.host_pods() == []

    await eventually(none_left, limit=LIMIT)
