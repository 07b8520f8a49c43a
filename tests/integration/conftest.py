"""One bare control plane for all integration tests that do not need one of their own."""

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from nestor.kube import Api, kinds
from tests.integration import apiserver, late, warm

DEAR = (
    "recorded", "dual", "world", "node_plane", "second_plane", "older_plane", "spare_plane", "guarded", "helm_plane",
    "kueue_plane", "plane", "control_plane",
)  # fmt: skip
"""Fixtures with API servers of their own: in a run by several workers, their tests share one. Of several, the first counts."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A group by the fixture; pytest-xdist begins with the largest ones."""
    for item in items:
        for name in [name for name in DEAR if name in getattr(item, "fixturenames", ())][:1]:
            item.add_marker(pytest.mark.xdist_group(name))


def pytest_report_header() -> str | None:
    """Which watches are late."""
    return f"watches of half of the kinds are {late.DELAY} s late: SEED={late.SEED}" if late.DELAY else None


@pytest.fixture(scope="session", autouse=True)
def late_watches() -> Iterator[None]:
    """Hold watches back, if the run is to."""
    with late.late_here():
        yield


@pytest.fixture(scope="session")
async def control_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """etcd, API server and controllers, shared by the session."""
    async with apiserver.running() as plane:
        yield plane


@pytest.fixture(scope="session")
async def host(control_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with the admin's rights."""
    async with await Api.connect(str(control_plane.kubeconfig), manager="tests") as api:
        yield api


@pytest.fixture(scope="session")
def nestor() -> Iterator[list[str]]:
    """The command `nestor`, started without importing its libraries each time."""
    with warm.serving() as command:
        yield command


@pytest.fixture
async def namespace(host: Api) -> str:
    """A fresh namespace; left behind, the control plane goes at the end anyway."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await host.create(kinds.NAMESPACE, {"metadata": {"name": name}})
    return name
