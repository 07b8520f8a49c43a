"""Nodes that a class shows, and what a tenant makes of them, with the controllers of a real nested control plane."""

import uuid
from collections.abc import AsyncIterator

import pytest

from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.syncer.copies.rows import nodes
from tests.integration.syncer.pods import build_pod, is_ready
from tests.integration.syncer.world import World, running_status
from tests.waiting import until


@pytest.fixture
async def node(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A node of the host on which no pod is, and a class that shows it."""
    monkeypatch.setattr(nodes.NodeRow, "linger_seconds", 0.3)
    name = f"shown-{uuid.uuid4().hex[:8]}"
    labels = {"kubernetes.io/hostname": name, "shown": name}
    await world.host.create(kinds.NODE, {"metadata": {"name": name, "labels": labels}})
    await world.host.patch(kinds.NODE, name, None, {"spec": {"taints": [{"key": "host", "effect": "NoExecute"}]}})
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]}
    await world.host.patch(kinds.NODE, name, None, {"status": status}, subresource="status")
    await world.allow(nodes="All", placement={"nodeSelector": {"shown": name}})
    yield name
    await world.allow(nodes=None, placement=None)
    await world.host.delete(kinds.NODE, name)
    await until(lambda: world.nested.find(kinds.NODE, name), lambda found: found is None)


async def see(world: World, name: str, taints: list[Object]) -> Object:
    """The nested node with these taints."""
    return await until(
        lambda: world.nested.find(kinds.NODE, name), lambda found: found and (found["spec"].get("taints") or []) == taints
    )


HOSTS = {"key": "host", "effect": "NoSchedule"}


async def test_a_label_of_the_tenant_leads_pods_to_a_node_that_is_shown(world: World, space: str, node: str) -> None:
    found = await see(world, node, [HOSTS])
    assert found["status"]["allocatable"]["cpu"] == "8"
    pod = await world.nested.create(kinds.POD, build_pod(space, nodeSelector={"disk": "ssd"}))
    early = await world.host_pod(pod)
    assert early["spec"]["nodeSelector"] == {"disk": "ssd", "shown": node}
    await world.nested.patch(kinds.NODE, node, None, {"metadata": {"labels": {"disk": "ssd"}}})
    await world.gone(world.host, kinds.POD, early)
    host = await world.host_pod(pod)
    required = host["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    assert host["spec"]["nodeSelector"] == {"shown": node}
    await world.schedule(host, node)
    await world.report(host, **running_status(host))
    await world.nested_pod(pod, is_ready)
    await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)
    await world.nested.patch(kinds.NODE, node, None, {"metadata": {"labels": {"disk": None}}})


async def test_a_taint_of_the_tenant_ends_pods_and_one_of_the_host_is_the_host_s_affair(
    world: World, space: str, node: str
) -> None:
    pod = await world.nested.create(kinds.POD, build_pod(space, "stays"))
    host = await world.host_pod(pod)
    await world.schedule(host, node)
    await world.report(host, **running_status(host))
    await world.nested_pod(pod, is_ready)
    await see(world, node, [HOSTS])
    mine = {"key": "mine", "effect": "NoExecute"}
    await world.nested.patch(kinds.NODE, node, None, {"spec": {"taints": [HOSTS, mine]}})
    await until(
        lambda: world.host.find(kinds.POD, host["metadata"]["name"], world.namespace),
        lambda found: found is None or bool(found["metadata"].get("deletionTimestamp")),
    )
    await world.finish(host)
    await world.gone(world.nested, kinds.POD, pod)
    await see(world, node, [HOSTS, mine])
    await world.heard()
    later = await world.host_pod(await world.nested.create(kinds.POD, build_pod(space, "later")))
    required = later["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert {"key": "metadata.name", "operator": "NotIn", "values": [node]} in required["nodeSelectorTerms"][0]["matchFields"]
    await world.nested.patch(kinds.NODE, node, None, {"spec": {"taints": [HOSTS]}})
    await world.gone(world.host, kinds.POD, later)
