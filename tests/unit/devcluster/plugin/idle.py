"""A plugin that runs no container."""

from pathlib import Path

from devcluster.plugin.ctr import Ctr, CtrFailed, Image
from devcluster.plugin.ports import Ports
from devcluster.plugin.runner import Place
from devcluster.plugin.server import Settings
from tests.integration.apiserver import free_ports


class NoContainerd(Ctr):
    """A containerd that has nothing and gets nothing."""

    async def pull(self, image: str) -> Image:
        """Refuse."""
        raise CtrFailed(f"{image}: not found")

    async def tasks(self) -> dict[str, int]:
        """None."""
        return {}

    async def containers(self) -> list[str]:
        """None."""
        return []


def idle(folder: Path, address: str) -> Settings:
    """A backend of the test's own, with its files in `folder`."""
    ctr = NoContainerd(Path("ctr"), Path("socket"), Path("hosts"), Path("runc"))
    place = Place(ctr, folder / "pods", folder / "networks", "nestor-test-nothing")
    return Settings(folder, address, folder / "orders.sock", place, Ports(*free_ports(4)))
