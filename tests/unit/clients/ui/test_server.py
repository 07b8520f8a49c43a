"""Where the pages can be reached."""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import cast

import pytest

from nestor.clients import portal
from nestor.clients.portal import parse
from nestor.clients.ui.guard import Gate
from nestor.clients.ui.server import serving
from nestor.clients.ui.visitor import Find
from nestor.kube import kubeconfig
from tests.waiting import eventually

ELSEWHERE = "127.0.0.2"
"""An address of this machine that is not the one that the page is at, as those of its network cards are not."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, 127.0.0.2 is no address of the machine")


async def answers(address: str, port: int) -> bool:
    """Whether something listens there."""
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_the_page_is_on_this_machine_alone() -> None:
    async with serving(cast(Find, None), Gate()) as port:
        assert await answers("127.0.0.1", port)
        assert not await answers(ELSEWHERE, port)
    assert not await answers("127.0.0.1", port)


async def test_whoever_is_not_in_the_portals_pod_does_not_reach_its_pages(tmp_path: Path) -> None:
    """Who did could say to be anybody."""
    file = write_kubeconfig(tmp_path, "https://127.0.0.1:1")
    pages, health = find_ports()
    task = asyncio.create_task(
        portal.run(parse(["--host=x", f"--port={pages}", f"--health-port={health}", f"--kubeconfig={file}"]))
    )
    try:
        await eventually(lambda: answers("127.0.0.1", pages))
        await eventually(lambda: answers(ELSEWHERE, health))
        assert not await answers(ELSEWHERE, pages)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def write_kubeconfig(folder: Path, server: str) -> Path:
    content = kubeconfig.build({"server": server}, {"token": "t"}, "a", "a")
    (folder / "config").write_text(json.dumps(content))
    return folder / "config"


def find_ports() -> tuple[int, int]:
    """Two that are free."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("", 0))
        other.bind(("", 0))
        return one.getsockname()[1], other.getsockname()[1]
