"""Persistent volumes: claims of nested clusters get volumes of the host, which survive pods and go, or stay, with the job."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import Api, kinds
from tests.e2e.conftest import (
    IS_EMBEDDED,
    apply,
    class_like_default,
    example,
    fresh_namespace,
    kubectl,
    nested_kubeconfig,
    open_cluster,
    try_kubectl,
)
from tests.waiting import eventually, job_with, until, wait_for_none

# They share a nested cluster, and the StorageClasses are the embedded cluster's.
pytestmark = [
    pytest.mark.xdist_group("storage"),
    pytest.mark.skipif(not IS_EMBEDDED, reason="needs the embedded cluster's StorageClasses"),
]

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default}}
spec:
  terminationGracePeriodSeconds: 0
  nodeSelector: {{{node}}}
  containers:
  - name: main
    image: docker.io/library/busybox:1.35
    command: [sh, -c, '{command}; touch /tmp/done; exec sleep 3600']
    readinessProbe: {{exec: {{command: [cat, /tmp/done]}}, periodSeconds: 1, timeoutSeconds: 10}}
    volumeMounts: [{{name: data, mountPath: /data}}]
  volumes:
  - name: data
    {volume}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}, namespace: default}}
spec:
  accessModes: [{mode}]
  storageClassName: {storage_class}
  resources: {{requests: {{storage: {size}}}}}
"""
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: shards, namespace: default}
spec:
  replicas: 2
  serviceName: shards
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: shards}}
  template:
    metadata: {labels: {app: shards}}
    spec:
      terminationGracePeriodSeconds: 0
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: shards}}
      containers:
      - name: main
        image: docker.io/library/busybox:1.35
        command: [sh, -c, 'date >> /data/starts; touch /tmp/done; exec sleep 3600']
        readinessProbe: {exec: {command: [cat, /tmp/done]}, periodSeconds: 1, timeoutSeconds: 10}
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
"""


def pod(name: str, volume: str, *, command: str = "true", node: str = "") -> str:
    """A pod with a volume; `node` is the name of the node that it has to be on."""
    selector = f"kubernetes.io/hostname: {node}" if node else ""
    return POD.format(name=name, volume=volume, command=command, node=selector)


def claim(name: str, *, storage_class: str = "shared", mode: str = "ReadWriteMany", size: str = "10Mi") -> str:
    return CLAIM.format(name=name, storage_class=storage_class, mode=mode, size=size)


def using(name: str) -> str:
    return f"persistentVolumeClaim: {{claimName: {name}}}"


async def replace(inside: Path, *pods: str) -> None:
    """Delete pods of a StatefulSet, and await that their successors are ready. Its status tells of the old ones for a moment."""
    await kubectl(inside, "delete", "pod", *pods)
    for name in pods:  # one by one: kubectl gives up when two are missing
        for awaited in ("create", "condition=Ready"):
            await kubectl(inside, "wait", f"--for={awaited}", f"pod/{name}")


def storage_class(api: Api, size: str = "100Mi", **storage: Any) -> AbstractAsyncContextManager[str]:
    """A class with volumes, of this size in all."""
    quota, volumes = {"quota": {"requests.storage": size}}, {"classes": ["local", "shared"]} | storage
    return class_like_default(api, "storage", namespace=quota, storage=volumes)


async def volumes_of(api: Api, namespace: str) -> list[Object]:
    """The host's volumes for claims in this namespace."""
    found = await api.list(kinds.PERSISTENT_VOLUME)
    return [item for item in found if (spec_of(item).get("claimRef") or {}).get("namespace") == namespace]


@pytest.fixture(scope="module")
async def opened(
    api: Api, used_namespaces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Object, Path]]:
    """A job with volumes. When it is deleted, nothing of them is left: that is this fixture's own test."""
    async with storage_class(api) as name, fresh_namespace(api, used_namespaces) as namespace:
        job, inside = await open_cluster(api, "store", namespace, tmp_path_factory.mktemp("store"), className=name)
        yield job, inside
        home = job["status"]["namespace"]
        assert await volumes_of(api, home)
        await api.delete(kinds.NESTED_APP_JOB, "store", namespace)
        await wait_for_none(api, kinds.NESTED_APP_JOB, namespace)
        await until(lambda: volumes_of(api, home), lambda left: not left)


@pytest.fixture
def inside(opened: tuple[Object, Path]) -> Path:
    """The kubeconfig of its nested cluster."""
    return opened[1]


async def test_a_stateful_set_finds_its_volumes_again(inside: Path) -> None:
    classes = await kubectl(inside, "get", "storageclass")
    assert "local (default)" in classes
    assert "shared" in classes
    await kubectl(inside, "apply", "-f", "-", stdin=STATEFUL_SET)
    await kubectl(inside, "rollout", "status", "statefulset/shards")
    nodes = await kubectl(inside, "get", "pods", "-l", "app=shards", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert len(set(nodes.split())) == 2
    await replace(inside, "shards-0", "shards-1")
    for name in ("shards-0", "shards-1"):
        assert len((await kubectl(inside, "exec", name, "--", "cat", "/data/starts")).splitlines()) == 2
    claims = await kubectl(inside, "get", "pvc", "data-shards-0", "data-shards-1", "--no-headers")
    assert claims.count("Bound") == 2


async def test_a_volume_of_both_nodes_is_bound_at_once_and_survives_its_pods(inside: Path, api: Api) -> None:
    await kubectl(inside, "apply", "-f", "-", stdin=claim("common"))
    await kubectl(inside, "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/common")
    first, second = sorted(
        item["metadata"]["name"] for item in await api.list(kinds.NODE) if labels.BACKEND not in labels_of(item)
    )
    await kubectl(inside, "apply", "-f", "-", stdin=pod("writer", using("common"), command="echo kept > /data/x", node=first))
    await kubectl(inside, "wait", "--for=condition=Ready", "pod/writer")
    await kubectl(inside, "delete", "pod", "writer")
    await kubectl(inside, "apply", "-f", "-", stdin=pod("reader", using("common"), node=second))
    await kubectl(inside, "wait", "--for=condition=Ready", "pod/reader")
    assert await kubectl(inside, "exec", "reader", "--", "cat", "/data/x") == "kept\n"


async def test_volumes_stay_where_the_class_says_so_and_a_later_job_gets_them(api: Api, namespace: str, tmp_path: Path) -> None:
    async with storage_class(api, retention="Retain") as name:
        _, inside = await open_cluster(api, "keeper", namespace, tmp_path, className=name)
        await kubectl(inside, "apply", "-f", "-", stdin=claim("precious", storage_class="local", mode="ReadWriteOnce"))
        await kubectl(inside, "apply", "-f", "-", stdin=pod("writer", using("precious"), command="echo kept > /data/x"))
        await kubectl(inside, "wait", "--for=condition=Ready", "pod/writer")
        await api.delete(kinds.NESTED_APP_JOB, "keeper", namespace)
        await wait_for_none(api, kinds.NESTED_APP_JOB, namespace)
        (kept,) = await api.list(kinds.PERSISTENT_VOLUME, labels=f"{labels.JOB_NAMESPACE}={namespace},{labels.JOB}=keeper")
        assert kept["metadata"]["annotations"][labels.NESTED_NAME] == "precious"
        assert kept["spec"]["persistentVolumeReclaimPolicy"] == "Retain"

        _, inside = await open_cluster(api, "heir", namespace, tmp_path, className=name, storage={"volumesFrom": "keeper"})
        await kubectl(
            inside, "apply", "-f", "-", stdin=claim("precious", storage_class="local", mode="ReadWriteOnce", size="1Mi")
        )
        await kubectl(inside, "apply", "-f", "-", stdin=pod("reader", using("precious")))
        await kubectl(inside, "wait", "--for=condition=Ready", "pod/reader")
        assert await kubectl(inside, "exec", "reader", "--", "cat", "/data/x") == "kept\n"
        assert kept["metadata"]["name"] in await kubectl(inside, "get", "pvc", "precious")
        await api.delete(kinds.NESTED_APP_JOB, "heir", namespace)
        await wait_for_none(api, kinds.NESTED_APP_JOB, namespace)
        await api.delete(kinds.PERSISTENT_VOLUME, kept["metadata"]["name"])


async def test_the_example_s_database_goes_on_counting_whatever_is_lost(api: Api, namespace: str, tmp_path: Path) -> None:
    async with storage_class(api, "1Gi") as name:
        documents = example("14-database", "database", namespace)
        for document in documents:
            if document["kind"] == "NestedAppJob":
                document["spec"]["className"] = name
        await apply(api, documents)
        job = await job_with(api, "database", namespace, conditions.STEPS_APPLIED, "True")
        inside = await nested_kubeconfig(api, job, tmp_path)
        await kubectl(inside, "rollout", "status", "statefulset/database")
        assert await kubectl(inside, "exec", "database-0", "--", "redis-cli", "incr", "visits") == "1\n"
        await replace(inside, "database-0")
        assert await kubectl(inside, "exec", "database-0", "--", "redis-cli", "incr", "visits") == "2\n"

        # The nested cluster loses its data, and with it all claims: those that come back find their volumes.
        before = await kubectl(inside, "get", "pvc", "data-database-0", "-o", "jsonpath={.metadata.uid}")
        await api.delete(kinds.POD, "database-k3s-0", job["status"]["namespace"], grace_seconds=1)

        async def is_back() -> bool:
            code, uid = await try_kubectl(inside, "get", "pvc", "data-database-0", "-o", "jsonpath={.metadata.uid}")
            return code == 0 and uid != before

        await eventually(is_back)
        await kubectl(inside, "rollout", "status", "statefulset/database")
        assert await kubectl(inside, "exec", "database-0", "--", "redis-cli", "incr", "visits") == "3\n"
