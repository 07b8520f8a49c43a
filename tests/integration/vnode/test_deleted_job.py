"""A job is deleted while its backend is gone: the operator, the process of the virtual nodes, and a backend together.

The backend cannot list its pods. The tests play the scheduler, and the kubelets of the other nodes.
"""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from nestor.api import labels
from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from nestor.operator.backends.process import account_of
from nestor.overflow.vnode.pods import orphans
from tests.fakes.backend import MemoryBackend
from tests.integration.operator.conftest import operator_running
from tests.integration.operator.world import READY_POD, build_class, build_job, host_namespace
from tests.integration.vnode import world
from tests.integration.vnode.world import NodePlane, World
from tests.waiting import eventually, has, wait_for, wait_for_any, wait_for_none

SYSTEM, ADDRESS = "nestor-system", "127.0.0.1"


@pytest.fixture
async def joined(node_plane: NodePlane, node_api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """An operator, and a backend whose nodes and certificates are of its making."""
    monkeypatch.setattr(orphans, "NOTE_SECONDS", 0.5)
    monkeypatch.setattr(orphans, "KEEP_SECONDS", 0.2)
    name = f"site-{uuid.uuid4().hex[:6]}"
    await node_api.apply(kinds.NESTED_CLASS, build_class())
    async with operator_running(node_plane, give_up=30):
        made = await world.make(node_plane, node_api, name, "", tmp_path)
        kubeconfig = str(node_plane.kubeconfig_of(account_of(name, SYSTEM)))
        made.settings = replace(made.settings, kubeconfig=kubeconfig, namespace=SYSTEM, address=ADDRESS)
        made.backend = MemoryBackend(can_list=False)
        try:
            await begin(made)
            yield made
        finally:
            await made.stop()
            await node_api.delete(kinds.OVERFLOW_BACKEND, name)
            await wait_for(node_api, kinds.OVERFLOW_BACKEND, name, "", lambda found: found is None)


async def begin(made: World) -> None:
    """What the admin does, and the kubelet of the process's pod."""
    kind = kinds.OVERFLOW_BACKEND
    shapes = [{"name": "default", "capacity": {"cpu": "8", "memory": "16Gi"}}]
    spec: Object = {"type": "Interlink", "interlink": {"url": made.url}, "shapes": shapes, "drainSeconds": 0}
    meta = {"name": made.name}
    await made.api.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, "spec": spec})
    own = labels.selector(backend=made.name, component=labels.COMPONENT_VNODE)
    pod = await wait_for_any(made.api, kinds.POD, SYSTEM, lambda _: True, labels=own)
    status = READY_POD | {"podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
    await made.api.patch(kinds.POD, pod["metadata"]["name"], SYSTEM, {"status": status}, subresource="status")
    await wait_for(made.api, kinds.NODE, made.name, "", lambda found: found is not None)
    await made.start()
    await wait_for(made.api, kind, made.name, "", has("Ready", "True"))


async def run_at(joined: World, name: str, node: str) -> str:
    """A pod of a job that is bound to a node. Returns its UID."""
    own = {labels.MANAGED_BY: "nestor", labels.COMPONENT: labels.COMPONENT_APP}
    meta = {"name": name, "namespace": joined.space, "labels": own}
    spec = {
        "nodeName": node,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [{"name": "app", "image": "example/web:1"}],
    }
    made = await joined.api.create(kinds.POD, {"metadata": meta, "spec": spec})
    return str(made["metadata"]["uid"])


async def run_job(joined: World, name: str) -> tuple[Object, str]:
    """A job with a pod that runs at the backend and one on a node that is lost; the job, and the UID of the first."""
    api, space = joined.api, f"team-{uuid.uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACE, {"metadata": {"name": space}})
    job = await api.create(kinds.NESTED_APP_JOB, build_job(name, space))
    joined.space = await host_namespace(api, job)
    await wait_for(api, kinds.SERVICE_ACCOUNT, "default", joined.space, bool)
    uid = await run_at(joined, "part", joined.name)
    # Another name each time: of nodes that have been missing for 40 s, the controllers delete the pods themselves.
    await run_at(joined, "other", f"lost-{uuid.uuid4().hex[:6]}")
    await joined.accepted("part")
    joined.backend.run(uid)
    return job, uid


def noted(backend: Object | None) -> list[str]:
    """The UIDs of the pods that its process remembers."""
    return [item["uid"] for item in status_of(backend).get("unconfirmedPods") or []]


@pytest.mark.slow
async def test_a_job_goes_though_the_backend_is_gone_and_what_may_be_left_is_named_and_ended(joined: World) -> None:
    job, uid = await run_job(joined, "train")
    api, space = joined.api, job["metadata"]["namespace"]
    await joined.phase("part", "Running")

    joined.backend.is_down = True
    await api.delete(kinds.NESTED_APP_JOB, "train", space)
    # Pods of the cluster's own nodes are forced long before.
    await wait_for_any(api, kinds.EVENT, space, lambda item: item["reason"] == "PodForceDeleted" and "'other'" in item["message"])
    assert await api.find(kinds.POD, "part", joined.space) is not None

    def is_named(item: Object) -> bool:
        return item["reason"] == "PodForceDeleted" and uid in item["message"]

    about_job = await wait_for_any(api, kinds.EVENT, space, is_named)
    about_node = await wait_for_any(api, kinds.EVENT, "default", is_named)
    assert (about_job["involvedObject"]["name"], about_node["involvedObject"]["name"]) == ("train", joined.name)
    for event in (about_job, about_node):
        assert f"backend '{joined.name}' (node '{joined.name}')" in event["message"]
        assert f"part ({uid})" in event["message"]
    await wait_for(api, kinds.NESTED_APP_JOB, "train", space, lambda found: found is None)
    await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]))
    assert not [item for item in await api.list(kinds.EVENT, space) if item["reason"] == "NamespaceLeftBehind"]

    # Another process takes over while the backend is still away, and ends the pod when it is back.
    await wait_for(api, kinds.OVERFLOW_BACKEND, joined.name, "", lambda found: noted(found) == [uid])
    await joined.stop()
    await joined.start()
    assert uid in joined.backend.pods
    joined.backend.is_down = False
    await joined.until(lambda: uid not in joined.backend.pods)
    await wait_for(api, kinds.OVERFLOW_BACKEND, joined.name, "", lambda found: noted(found) == [])
    assert joined.backend.starts == {uid: 1}


async def test_a_deleted_job_waits_for_a_slow_backend(joined: World) -> None:
    """It ends its pods after others would have been forced, and nothing is left."""
    job, uid = await run_job(joined, "slow")
    api, space = joined.api, job["metadata"]["namespace"]
    joined.backend.ends_at_once = False
    await api.delete(kinds.NESTED_APP_JOB, "slow", space)
    await wait_for_any(api, kinds.EVENT, space, lambda item: "'other'" in item["message"])
    joined.backend.finish(uid)
    await wait_for(api, kinds.NESTED_APP_JOB, "slow", space, lambda found: found is None)

    async def is_forgotten() -> bool:
        return noted(await api.find(kinds.OVERFLOW_BACKEND, joined.name)) == []

    await eventually(is_forgotten)
    events = [*await api.list(kinds.EVENT, space), *await api.list(kinds.EVENT, "default")]
    assert not [item for item in events if uid in item["message"] and item["reason"] in ("PodForceDeleted", "LeftAtBackend")]
