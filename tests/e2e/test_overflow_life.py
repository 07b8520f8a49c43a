"""Pods at a backend in trouble: not answering, its process killed, itself deleted. None is lost or runs twice."""

import uuid
from pathlib import Path

import pytest

from devcluster.cluster import PluginInfo
from nestor.kube import kinds
from tests.e2e import overflow
from tests.e2e.conftest import kubectl
from tests.e2e.overflow import NEVER, STAY, Place, deployment, pod
from tests.waiting import has, wait_for

pytestmark = [pytest.mark.xdist_group("plugin"), pytest.mark.long]


async def test_pods_at_a_backend_that_does_not_answer_keep_their_state(place: Place, plugin: PluginInfo) -> None:
    await place.allow(mode="Always")
    await place.create(pod("patient", STAY))
    await place.running("patient")
    uid = await place.get("patient", ".metadata.uid")

    # Every connection ends without an answer, for as long as it takes until the node says so; what runs there runs on.
    plugin.client.switch(faults=[{"kind": "drop"}])
    await wait_for(place.api, kinds.NODE, place.link, "", has("Ready", "Unknown", "BackendUnreachable"))
    assert await place.get("patient", ".status.phase") == "Running"

    plugin.client.restart()
    plugin.client.switch(faults=[])
    await wait_for(place.api, kinds.NODE, place.link, "", has("Ready", "True"))
    await place.running("patient")
    assert await place.get("patient", ".metadata.uid") == uid
    assert runs_of(plugin, "patient") == [1]
    assert await place.get("patient", ".status.containerStatuses[0].restartCount") == "0"


def runs_of(plugin: PluginInfo, prefix: str) -> list[int]:
    """How often the plugin has started the containers of such pods (it remembers two runs of each): a number for each of them."""
    return [len(item["runs"]) for found in overflow.records_of(plugin, prefix) for item in found["containers"]]


async def test_a_virtual_node_is_drained_as_any_node(place: Place, plugin: PluginInfo, kubeconfig: Path) -> None:
    await place.allow(mode="Always")
    await place.create(deployment("mover", 2, STAY))
    await place.rolled_out("mover")
    before = {item["uid"] for item in overflow.records_of(plugin, "mover")}
    assert len(before) == 2
    options = ("--force", "--ignore-daemonsets", "--delete-emptydir-data")
    await kubectl(kubeconfig, "drain", place.link, *options)
    await overflow.until_forgotten(plugin, "mover")

    # Their successors wait until the node takes pods again.
    await kubectl(kubeconfig, "uncordon", place.link)
    await place.rolled_out("mover")
    after = {item["uid"] for item in overflow.records_of(plugin, "mover")}
    assert len(after) == 2
    assert not before & after


async def test_a_backend_that_is_deleted_empties_its_nodes_first(place: Place, plugin: PluginInfo) -> None:
    name = f"leaving-{uuid.uuid4().hex[:6]}"
    async with overflow.backend(place.api, name, overflow.interlink(plugin)):
        placement = {"overflow": {"mode": "Always", "backends": [{"name": name}]}}
        await overflow.allow(place.api, place.class_name, placement)
        await place.create(deployment("mover", 2, STAY))
        assert await place.places("mover", 2) == [name] * 2
        await place.rolled_out("mover")
        await overflow.remove_backend(place.api, name)
        await overflow.until_forgotten(plugin, "mover")
    events = await place.api.list(kinds.EVENT, "default")
    assert not [item for item in events if item["involvedObject"]["name"] == name and item["reason"] == "PodsLeftBehind"]

    # Their successors wait for a place until the class allows one.
    await place.allow(**NEVER)
    await place.rolled_out("mover")
    assert await place.places("mover", 2) == ["", ""]
