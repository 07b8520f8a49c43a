"""The control plane of virtual nodes, and one backend for each test."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor.kube import Api, kinds
from tests.integration import chart
from tests.integration.vnode import world
from tests.integration.vnode.world import USER, NodePlane, World
from tests.waiting import wait_for


@pytest.fixture(scope="session")
async def node_plane() -> AsyncIterator[NodePlane]:
    """API server, controllers, and the rights of the chart."""
    async with world.plane() as made, await Api.connect(str(made.kubeconfig), manager="tests") as api:
        await chart.install_roles(api)
        group = "rbac.authorization.k8s.io"
        binding = {
            "apiVersion": kinds.CLUSTER_ROLE_BINDING.api_version,
            "kind": kinds.CLUSTER_ROLE_BINDING.name,
            "metadata": {"name": USER},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "nestor-vnode"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": USER}],
        }
        await api.apply(kinds.CLUSTER_ROLE_BINDING, binding)
        yield made


@pytest.fixture(scope="session")
async def node_api(node_plane: NodePlane) -> AsyncIterator[Api]:
    """A client with the admin's rights."""
    async with await Api.connect(str(node_plane.kubeconfig), manager="tests") as api:
        yield api


@pytest.fixture
async def virtual(node_plane: NodePlane, node_api: Api, tmp_path: Path) -> AsyncIterator[World]:
    """A backend with one virtual node, and a namespace for its pods."""
    name = f"far-{uuid.uuid4().hex[:6]}"
    await node_api.create(kinds.NAMESPACE, {"metadata": {"name": name}})
    await wait_for(node_api, kinds.SERVICE_ACCOUNT, "default", name, bool)
    await wait_for(node_api, kinds.CONFIG_MAP, "kube-root-ca.crt", name, bool)
    made = await world.make(node_plane, node_api, name, name, tmp_path)
    try:
        await made.begin()
        yield made
    finally:
        await made.end()
