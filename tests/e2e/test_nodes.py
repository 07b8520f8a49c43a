"""A node is lost or drained: what ran there in a nested cluster is replaced on the other node, as anywhere in Kubernetes.

Each test prints how long that took. It is no test's business: the machine may be busy.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import devcluster.cluster
from devcluster import progress
from nestor.api import conditions
from nestor.api.objects import Object, is_terminating
from nestor.kube import Api, kinds
from tests.e2e.conftest import apply, dump, inline_job, kubectl, nested_kubeconfig, workload
from tests.waiting import gone, job_with, wait_for, wait_for_any

pytestmark = [pytest.mark.alone, pytest.mark.long]

FIRST, SECOND = "nestor-dev", "nestor-dev-2"
TOLERATED_SECONDS = 3
MARKER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: marker, namespace: default}\n"


@pytest.fixture
async def second(cluster: object, api: Api) -> AsyncIterator[str]:
    """The second node, cordoned and without the operator, so that what must survive is on the first. At the end it runs again."""
    if SECOND not in devcluster.cluster.nodes():
        pytest.skip("the cluster was started with NODES=1")
    await cordon(api, SECOND, on=True)
    try:
        for pod in await api.list(kinds.POD, "nestor-system", fields=f"spec.nodeName={SECOND}"):
            await api.delete(kinds.POD, pod["metadata"]["name"], "nestor-system")
            await gone(api, kinds.POD, pod["metadata"]["name"], "nestor-system")
        await wait_for_any(api, kinds.POD, "nestor-system", is_ready, labels="app.kubernetes.io/name=nestor")
        yield SECOND
    finally:
        await asyncio.to_thread(devcluster.cluster.node, "start", SECOND, progress.Console())
        await cordon(api, SECOND, on=False)
        await wait_for(api, kinds.NODE, SECOND, "", lambda found: found is not None and is_ready(found))


@pytest.fixture
async def nested(api: Api, namespace: str, second: str, tmp_path: Path) -> AsyncIterator[tuple[Api, Object]]:
    """A nested cluster whose server is on the first node, and its one pod, of a Deployment, which runs on the second."""
    await apply(api, inline_job("lost", namespace, {"marker.yaml": MARKER}))
    job = await job_with(api, "lost", namespace, conditions.READY, "True")
    kubeconfig = await nested_kubeconfig(api, job, tmp_path)
    await cordon(api, second, on=False)
    await kubectl(kubeconfig, "apply", "-f", "-", stdin=deployment(second))
    async with await Api.connect(str(kubeconfig), manager="e2e") as client:
        pod = await wait_for_any(client, kinds.POD, "default", is_ready)
        assert pod["spec"]["nodeName"] == second
        yield client, pod


def deployment(node: str) -> str:
    """One pod, on `node` as long as that takes pods, and away from it seconds after the node is lost."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}
    lost = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED_SECONDS}
        for key in ("unreachable", "not-ready")
    ]
    where: Object = {"affinity": {"nodeAffinity": affinity}, "tolerations": lost}
    return dump(workload("Deployment", "app", terminationGracePeriodSeconds=10, **where))


def is_ready(item: Object) -> bool:
    """Whether an object's condition Ready is true, and it is to stay."""
    return conditions.is_true(item.get("status", {}).get("conditions"), "Ready") and not is_terminating(item)


async def cordon(api: Api, node: str, *, on: bool) -> None:
    """Let no new pods onto a node, or let them again. A controller turns that into a taint, a moment later."""
    await api.patch(kinds.NODE, node, None, {"spec": {"unschedulable": on or None}})

    def is_done(found: Object | None) -> bool:
        taints = [item["key"] for item in (found or {})["spec"].get("taints") or []]
        return ("node.kubernetes.io/unschedulable" in taints) is on

    await wait_for(api, kinds.NODE, node, "", is_done)


async def ending(api: Api, uid: str) -> Object:
    """The host pod of the nested pod with that UID, once the host ends it."""
    return await wait_for_any(api, kinds.POD, "", is_terminating, labels=f"nestor.dev/nested-uid={uid}")


async def test_what_ran_on_a_lost_node_is_replaced_on_another(api: Api, nested: tuple[Api, Object], second: str) -> None:
    client, lost = nested
    uid = lost["metadata"]["uid"]
    await asyncio.to_thread(devcluster.cluster.node, "stop", second, progress.Console())
    host = await ending(api, uid)
    evicted = time.monotonic()
    ended = await wait_for_any(client, kinds.POD, "default", lambda pod: pod["metadata"]["uid"] == uid and is_terminating(pod))
    successor = await wait_for_any(client, kinds.POD, "default", is_ready)
    print(f"evicted → replacement ready: {time.monotonic() - evicted:.1f} s")
    assert successor["metadata"]["uid"] != uid
    assert successor["spec"]["nodeName"] == FIRST
    assert conditions.is_true(ended["status"]["conditions"], "DisruptionTarget")
    # Not because it was gone: no kubelet confirms its end.
    still = await api.get(kinds.POD, host["metadata"]["name"], host["metadata"]["namespace"])
    assert still["metadata"]["uid"] == host["metadata"]["uid"]
    await asyncio.to_thread(devcluster.cluster.node, "start", second, progress.Console())
    await gone(client, kinds.POD, lost["metadata"]["name"], "default")


async def test_what_a_drain_evicts_is_replaced_at_once(
    api: Api, nested: tuple[Api, Object], kubeconfig: Path, second: str
) -> None:
    client, lost = nested
    uid = lost["metadata"]["uid"]
    options = ("--ignore-daemonsets", "--delete-emptydir-data")
    draining = asyncio.create_task(kubectl(kubeconfig, "drain", second, *options))
    try:
        await ending(api, uid)
        evicted = time.monotonic()
        await wait_for_any(client, kinds.POD, "default", lambda pod: pod["metadata"]["uid"] != uid)
        print(f"evicted → replacement created: {time.monotonic() - evicted:.2f} s")
        successor = await wait_for_any(client, kinds.POD, "default", is_ready)
        print(f"evicted → replacement ready: {time.monotonic() - evicted:.1f} s")
    finally:
        await draining
    assert successor["spec"]["nodeName"] == FIRST
    await gone(client, kinds.POD, lost["metadata"]["name"], "default")
