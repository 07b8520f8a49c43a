"""The process as its container runs it, before a real API server and an interLink backend over HTTP."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from nestor.kube import kinds
from tests import children
from tests.fakes.interlink import FakeInterlink
from tests.integration.vnode.world import World
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]


def spawn(world: World) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    """The process, apart from flags that say where the test's cluster is."""
    settings = world.settings
    return children.running(
        sys.executable,
        "-m",
        "nestor",
        "vnode",
        f"--backend={settings.backend}",
        f"--folder={settings.folder}",
        f"--kubeconfig={settings.kubeconfig}",
        f"--health-port={settings.health_port}",
        f"--kubelet-port={settings.kubelet_port}",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "POD_NAMESPACE": settings.namespace,
            "POD_IP": settings.address,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


@pytest.fixture
async def link(virtual: World) -> AsyncIterator[FakeInterlink]:
    """The backend; nobody serves it yet."""
    await virtual.stop()
    made = FakeInterlink()
    async with made.serve() as url:
        spec = {"interlink": {"url": url, "statusPeriodSeconds": 1}}
        await virtual.api.patch(kinds.OVERFLOW_BACKEND, virtual.name, None, {"spec": spec})
        yield made


async def is_ready(world: World) -> bool:
    """Whether its probe says so."""
    return await world.probe("readyz") == 200


async def test_it_works_as_a_process_and_ends_cleanly(virtual: World, link: FakeInterlink) -> None:
    async with spawn(virtual) as process:
        await eventually(lambda: is_ready(virtual))
        uid = await virtual.bind("web", automountServiceAccountToken=False)
        await virtual.accepted("web")
        link.run(uid)
        await virtual.phase("web", "Running")
        link.end(uid)
        await virtual.phase("web", "Succeeded")
        assert await virtual.probe("healthz") == await virtual.probe("metrics") == 200
        process.send_signal(signal.SIGTERM)
        output, _ = await process.communicate()
    assert process.returncode == 0, output
    assert b"Traceback" not in output
    assert link.starts == [uid]


async def test_a_part_that_ends_takes_the_process_along(virtual: World, link: FakeInterlink) -> None:
    """The port is taken."""
    port = virtual.settings.kubelet_port
    listener = await asyncio.start_server(lambda _, __: None, "127.0.0.1", port)
    async with listener, spawn(virtual) as process:
        output, _ = await process.communicate()
    assert process.returncode == 1
    assert f"Address already in use (while attempting to bind on address ('127.0.0.1', {port}))" in output.decode()
