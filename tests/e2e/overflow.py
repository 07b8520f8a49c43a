"""What tests of overflow share: the interLink plugin as a backend, classes that use backends, and where pods are.

The conftest makes the fixtures known: they are for all tests of this folder.
"""

import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import devcluster.cluster
from devcluster.cluster import PluginInfo
from devcluster.plugin.switches import Switches
from nestor.api import conditions, labels
from nestor.api.data import read
from nestor.api.objects import Object, annotations_of, labels_of, status_of
from nestor.api.placement import Placement
from nestor.api.quantities import parse_quantity
from nestor.kube import Api, kinds
from tests.e2e.conftest import BUSYBOX, IS_EMBEDDED, apply_class, class_like_default, fresh_namespace, kubectl, open_cluster
from tests.waiting import eventually, gone, has, until, wait_for

GPU = "nvidia.com/gpu"
"""What the plugin calls its accelerators. They do not exist, but are counted."""
ROOM: Object = {"cpu": "1000", "memory": "1Ti", "pods": "100", "accelerators": {GPU: 2}}
"""What the plugin offers in tests: it is never the one that is full."""
SYSTEM = "nestor-system"
NEVER: Object = {"mode": "Never"}
BY_ROOM: Object = {"mode": "WhenFull", "completionsTrigger": 0, "localParallelism": 0, "backendParallelism": 0}
"""Rules by which room alone decides."""
STAY = "exec sleep 3600"
FILES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {color: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: default}
stringData: {password: sesame}
"""
"""What pods may mount."""
SHARE = Decimal("0.6")
"""Of the largest node's CPUs: one pod that requests it fits on a node, and no two do."""


@contextlib.contextmanager
def running_plugin() -> Iterator[PluginInfo]:
    """The embedded cluster's interLink plugin, ended with its containers."""
    info = devcluster.cluster.plugin("up")
    try:
        rest(info)
        yield info
    finally:
        devcluster.cluster.plugin("down")


def rest(info: PluginInfo) -> None:
    """Set the plugin's switches as tests of overflow expect them."""
    info.client.switch(**Switches().model_dump() | {"resources": ROOM})


def interlink(info: PluginInfo, **spec: Any) -> Object:
    """The spec of an OverflowBackend for the plugin, which soon knows what happens there."""
    return {"type": "Interlink", "interlink": {"url": info.server_url, "statusPeriodSeconds": 1}, "drainSeconds": 5, **spec}


@contextlib.asynccontextmanager
async def backend(api: Api, name: str, spec: Object) -> AsyncIterator[Object]:
    """An OverflowBackend whose nodes take pods; at the end it is gone, with its nodes and its process."""
    kind = kinds.OVERFLOW_BACKEND
    await remove_backend(api, name)  # of a run that was interrupted
    await api.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec})
    try:
        yield await wait_for(api, kind, name, "", has(conditions.READY, "True")) or {}
    finally:
        await remove_backend(api, name)


async def remove_backend(api: Api, name: str) -> None:
    """Delete an OverflowBackend and await its end; harmless when it is gone."""
    await api.delete(kinds.OVERFLOW_BACKEND, name)
    await gone(api, kinds.OVERFLOW_BACKEND, name, "")
    assert await api.list(kinds.NODE, labels=labels.selector(backend=name)) == []


@contextlib.asynccontextmanager
async def second_cluster(
    api: Api, name: str, namespace: str, folder: Path, capacity: Object, **spec: Any
) -> AsyncIterator[Object]:
    """Another Kubernetes cluster, which is a nested one of the job `name`, as the spec of an OverflowBackend. Its pods run on the
    nodes of the host cluster after all, so `capacity` says what it is to offer.
    """
    job, inside = await open_cluster(api, name, namespace, folder, **spec)
    await kubectl(inside, "create", "namespace", "nestor")
    secret = f"overflow-{uuid.uuid4().hex[:6]}"
    own = await api.get(kinds.SECRET, job["status"]["kubeconfigSecretName"], namespace)
    content = {"metadata": {"name": secret, "namespace": SYSTEM}, "data": {"kubeconfig": own["data"]["kubeconfig"]}}
    await api.create(kinds.SECRET, {"apiVersion": "v1", "kind": "Secret", **content})
    try:
        yield {
            "type": "Kubernetes",
            "kubernetes": {"kubeconfigRef": {"name": secret, "key": "kubeconfig"}, "namespace": "nestor"},
            "shapes": [{"name": "default", "capacity": capacity}],
            "drainSeconds": 5,
        }
    finally:
        await api.delete(kinds.SECRET, secret, SYSTEM)


async def allow(api: Api, class_name: str, placement: Object) -> None:
    """Replace what a class says about places, and await that the clusters of its jobs go by it."""
    await apply_class(api, class_name, placement=placement)
    wanted = read(Placement, placement)

    def is_told(cluster: Object | None) -> bool:
        said = status_of(cluster).get("policy", {}).get("placement")
        return cluster is None or _as_written(read(Placement, said or {})) == _as_written(wanted)

    for cluster in await api.list(kinds.NESTED_CLUSTER):
        if cluster["spec"].get("className") == class_name:
            meta = cluster["metadata"]
            await wait_for(api, kinds.NESTED_CLUSTER, meta["name"], meta["namespace"], is_told)


def _as_written(placement: Placement) -> Placement:
    """Without what the operator adds: the tolerations of the taints that an OverflowBackend says its nodes have."""
    if placement.overflow is None:
        return placement
    backends = [replace(item, tolerations=None) for item in placement.overflow.backends]
    return replace(placement, overflow=replace(placement.overflow, backends=backends))


async def backends_of_nodes(api: Api) -> dict[str, str]:
    """All nodes of the host cluster, with the backend of each; empty for its own ones."""
    return {node["metadata"]["name"]: labels_of(node).get(labels.BACKEND, "") for node in await api.list(kinds.NODE)}


async def find_places(api: Api, namespace: str) -> dict[str, str]:
    """Where a job's application runs: the nested name of each of its pods that has a node and has not ended, with the backend,
    which is empty on the host cluster's own nodes. `namespace`: the job's own in the host cluster.
    """
    nodes = await backends_of_nodes(api)
    pods = await api.list(kinds.POD, namespace, labels=labels.selector(component=labels.COMPONENT_APP))
    return {
        annotations_of(pod)[labels.NESTED_NAME]: nodes[pod["spec"]["nodeName"]]
        for pod in pods
        if pod["spec"].get("nodeName") in nodes and status_of(pod).get("phase") in ("Pending", "Running")
    }


async def find_share(api: Api) -> str:
    """`SHARE` of the CPUs of the largest of the host cluster's own nodes, as a request."""
    own = [node for node in await api.list(kinds.NODE) if labels.BACKEND not in labels_of(node)]
    largest = max(parse_quantity(str(node["status"]["allocatable"]["cpu"])) for node in own)
    return f"{int(largest * SHARE * 1000)}m"


def pod(name: str, script: str, *, limits: Object | None = None, requests: Object | None = None, **spec: Any) -> str:
    """A pod whose container `main` runs a script, as JSON. What it mounts is in `volumes`, by name at `/<name>`."""
    mounts = [{"name": item["name"], "mountPath": f"/{item['name']}"} for item in spec.get("volumes") or []]
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], "volumeMounts": mounts}
    container |= {"env": spec.pop("env")} if "env" in spec else {}
    container["resources"] = {"limits": limits or {}, "requests": requests or {}}
    # A script that `exec`s, as the first process of its container, does not heed SIGTERM: it takes all of this to end.
    whole = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **spec}
    meta = {"name": name, "namespace": "default", "labels": {"app": name}}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": whole})


def deployment(name: str, replicas: int, script: str, **options: Any) -> str:
    """A Deployment of pods as `pod` makes them."""
    made = json.loads(pod(name, script, restartPolicy="Always", **options))
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": made["metadata"], "spec": spec})


def records_of(info: PluginInfo, prefix: str) -> list[Object]:
    """What the plugin knows of pods whose names begin like this. Host pods' names begin with those of their nested pods."""
    found: list[Object] = info.client.state()["pods"]
    return [item for item in found if item["pod"]["metadata"]["name"].startswith(prefix)]


async def until_forgotten(info: PluginInfo, prefix: str) -> None:
    """Await that the plugin knows no such pod any more."""

    async def is_forgotten() -> bool:
        return not records_of(info, prefix)

    await eventually(is_forgotten)


@dataclass
class Place:
    """A nested cluster, and what its class says."""

    api: Api
    inside: Path
    home: str
    """The job's namespace in the host cluster."""
    class_name: str
    link: str

    async def allow(self, **rules: Any) -> None:
        """Say which pods may go out, by the fields of a class's `overflow`."""
        placement = {"overflow": {"backends": [{"name": self.link}], **rules}}
        await allow(self.api, self.class_name, placement)

    async def create(self, *documents: str) -> None:
        """Create objects in the nested cluster."""
        for document in documents:
            await kubectl(self.inside, "create", "-f", "-", stdin=document)

    async def get(self, name: str, path: str) -> str:
        """A part of a nested pod."""
        return await kubectl(self.inside, "get", "pod", name, "-o", f"jsonpath={{{path}}}")

    async def running(self, name: str) -> str:
        """The node of a nested pod, once it is ready."""
        await kubectl(self.inside, "wait", "--for=condition=Ready", f"pod/{name}")
        return await self.get(name, ".spec.nodeName")

    async def ended(self, name: str, phase: str) -> None:
        """Await the end of a nested pod."""
        path = f"--for=jsonpath={{.status.phase}}={phase}"
        await kubectl(self.inside, "wait", path, f"pod/{name}")

    async def writes(self, name: str, text: str, *options: str) -> None:
        """Await that the log of a nested pod is this text. A pod is ready before its process has written anything."""
        await until(lambda: kubectl(self.inside, "logs", name, *options), lambda said: said == text)

    async def rolled_out(self, name: str) -> None:
        """Await that all pods of a Deployment run."""
        await kubectl(self.inside, "rollout", "status", f"deployment/{name}")

    async def told(self, name: str, reason: str) -> str:
        """The message of an event about a nested pod."""
        fields = f"--field-selector=involvedObject.name={name},reason={reason}"
        return await eventually(lambda: kubectl(self.inside, "get", "events", fields, "-o", "jsonpath={.items[*].message}"))

    async def places(self, prefix: str, count: int) -> list[str]:
        """The backends of so many pods whose names begin like this, once they all have a node; empty for the host's own."""

        async def look() -> list[str]:
            found = await find_places(self.api, self.home)
            chosen = [place for name, place in found.items() if name.startswith(prefix)]
            return chosen if len(chosen) == count else []

        return await eventually(look)


@pytest.fixture(scope="module")
def plugin(cluster: object) -> Iterator[PluginInfo]:
    """The embedded cluster's interLink plugin. Its switches are for all who use it: such tests run one after the other."""
    if not IS_EMBEDDED:
        pytest.skip("only the embedded cluster has an interLink plugin")
    with running_plugin() as found:
        yield found


@pytest.fixture(scope="module")
async def link(api: Api, plugin: PluginInfo) -> AsyncIterator[str]:
    """An OverflowBackend for the plugin: its name, and that of its node."""
    name = f"link-{uuid.uuid4().hex[:6]}"
    async with backend(api, name, interlink(plugin)):
        yield name


@pytest.fixture(scope="module")
async def shared_place(
    api: Api, link: str, used_namespaces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    """One nested cluster for all tests of a file."""
    placement = {"overflow": {"mode": "Never", "backends": [{"name": link}]}}
    async with (
        class_like_default(api, "overflow", placement=placement) as class_name,
        fresh_namespace(api, used_namespaces) as namespace,
    ):
        folder = tmp_path_factory.mktemp("overflow")
        job, inside = await open_cluster(api, "out", namespace, folder, className=class_name)
        yield Place(api, inside, job["status"]["namespace"], class_name, link)


@pytest.fixture
async def place(shared_place: Place, plugin: PluginInfo) -> AsyncIterator[Place]:
    """A nested cluster whose class may use the backend `link`.

    A test begins and ends without pods in the namespace `default`, and begins with the plugin's usual switches.
    """
    rest(plugin)
    yield shared_place
    plugin.client.switch(hold=False, faults=[])
    await kubectl(shared_place.inside, "delete", "deployments,jobs,pods", "--all")
    await until_forgotten(plugin, "")
