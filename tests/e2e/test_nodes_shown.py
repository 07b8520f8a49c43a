"""A class shows all of its nodes: DaemonSets start, and what a tenant makes of the nodes is honored."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import devcluster.cluster
from nestor.kube import Api
from tests.e2e.conftest import class_like_default, dump, kubectl, open_cluster, workload
from tests.waiting import until


@pytest.fixture
async def generous(api: Api) -> AsyncIterator[str]:
    """A class that shows all nodes."""
    async with class_like_default(api, "nodes", cluster={"nodes": "All"}) as name:
        yield name


async def test_daemon_sets_start_and_labels_and_taints_of_the_tenant_are_honored(
    api: Api, namespace: str, generous: str, tmp_path: Path
) -> None:
    _, inside = await open_cluster(api, "shown", namespace, tmp_path, className=generous)
    everywhere = sorted(devcluster.cluster.nodes())

    async def find_nodes(app: str) -> list[str]:
        found = json.loads(await kubectl(inside, "get", "pods", "-l", f"app={app}", "-o", "json"))["items"]
        return sorted(pod["spec"].get("nodeName", "") for pod in found if pod["status"]["phase"] == "Running")

    async def await_nodes(app: str, *names: str) -> None:
        await until(lambda: find_nodes(app), lambda found: found == sorted(names))

    # Nodes are there as soon as the cluster is ready.
    listed = json.loads(await kubectl(inside, "get", "nodes", "-o", "json"))["items"]
    assert sorted(item["metadata"]["name"] for item in listed) == everywhere
    assert all(item["status"]["allocatable"]["cpu"] for item in listed)

    last = everywhere[-1]
    await kubectl(inside, "apply", "-f", "-", stdin=dump(workload("DaemonSet", "everywhere")))
    await kubectl(inside, "apply", "-f", "-", stdin=dump(workload("Deployment", "chosen", nodeSelector={"disk": "ssd"})))
    await await_nodes("everywhere", *everywhere)
    assert await find_nodes("chosen") == []
    await kubectl(inside, "label", "node", last, "disk=ssd")
    await await_nodes("chosen", last)

    # Pods end for the taint, and none comes back as long as it is there.
    await kubectl(inside, "taint", "node", last, "mine=x:NoExecute")
    await await_nodes("everywhere", *everywhere[:-1])
    await await_nodes("chosen")
    await kubectl(inside, "taint", "node", last, "mine-")
    await await_nodes("everywhere", *everywhere)
    await await_nodes("chosen", last)
