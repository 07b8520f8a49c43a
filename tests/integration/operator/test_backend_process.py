"""Operator and process of a backend's virtual nodes together, from the OverflowBackend to a pod that runs, and to its end.

Both have the rights of the chart. The backend is an interLink over HTTP.
"""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object, conditions_of, status_of
from nestor.kube import Api, kinds
from nestor.operator.backends.process import account_of
from nestor.overflow.vnode import main
from nestor.overflow.vnode.settings import Settings
from tests.fakes.interlink import FakeInterlink
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import READY_POD
from tests.waiting import eventually, gone, has, wait_for, wait_for_any

SYSTEM = "nestor-system"
PING: Object = {"status": "ok", "resources": {"cpu": "8", "memory": "16Gi", "pods": "20"}}


@pytest.fixture
async def nodes_may(api: Api) -> None:
    """What the Node authorizer would allow nodes, which this control plane does not have."""
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "nodes-may"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:nodes"}],
    }
    await api.apply(kinds.CLUSTER_ROLE_BINDING, binding)


@contextlib.asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[asyncio.Task[None]]:
    """The process, for the length of a `with` block."""
    task = asyncio.create_task(main.run(settings))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.usefixtures("nodes_may")
async def test_from_a_backend_to_a_pod_that_runs_and_back(
    plane: apiserver.ControlPlane, operator: Operator, api: Api, tmp_path: Path
) -> None:
    name, link = f"link-{uuid.uuid4().hex[:6]}", FakeInterlink()
    link.ping = PING
    health, kubelet = apiserver.free_ports(2)
    own = str(plane.kubeconfig_of(account_of(name, SYSTEM)))
    settings = Settings(name, SYSTEM, "127.0.0.1", tmp_path / "identity", own, health, kubelet)
    async with link.serve() as url:
        kind = kinds.OVERFLOW_BACKEND
        spec = {"type": "Interlink", "interlink": {"url": url, "statusPeriodSeconds": 1}, "drainSeconds": 0}
        body: Object = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}
        await api.create(kind, body)
        await _play_kubelet(api, name)
        async with running(settings):
            await wait_for(api, kind, name, "", has(conditions.READY, "True"))
            node = await api.get(kinds.NODE, name)
            assert status_of(node)["capacity"] == {"cpu": "8", "memory": "16Gi", "pods": "20"}
            await _run_pod(api, link, name)
            await api.delete(kind, name)
            await gone(api, kind, name, "")
            assert await api.find(kinds.NODE, name) is None


async def _play_kubelet(api: Api, name: str) -> None:
    """The pod of the process runs; its address is that of the test."""
    pod = await wait_for_any(api, kinds.POD, SYSTEM, lambda _: True, labels=f"{labels.BACKEND}={name}")
    status = READY_POD | {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    await api.patch(kinds.POD, pod["metadata"]["name"], SYSTEM, {"status": status}, subresource="status")


async def _run_pod(api: Api, link: FakeInterlink, node: str) -> None:
    meta = {"name": f"web-{node}", "namespace": "default"}
    spec = {"nodeName": node, "restartPolicy": "Never", "containers": [{"name": "app", "image": "example/web:1"}]}
    full = {"metadata": meta, "spec": spec | {"automountServiceAccountToken": False}}
    made = await api.create(kinds.POD, full)
    uid = made["metadata"]["uid"]
    await _eventually(lambda: uid in link.pods)
    link.run(uid)

    def is_running(pod: Object | None) -> bool:
        return status_of(pod).get("phase") == "Running" and conditions.is_true(conditions_of(pod), "Ready")

    await wait_for(api, kinds.POD, meta["name"], "default", is_running)
    await api.delete(kinds.POD, meta["name"], "default")
    await _eventually(lambda: uid in link.terminating)
    assert await api.find(kinds.POD, meta["name"], "default") is not None
    link.finish(uid)
    await gone(api, kinds.POD, meta["name"], "default")
    assert link.starts == [uid]


async def _eventually(check: Callable[[], bool]) -> None:
    async def look() -> bool:
        return check()

    await eventually(look)
