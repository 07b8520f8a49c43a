"""The process itself: how it starts, what it says when a side is away, how it ends."""

import asyncio
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from nestor.kube import kinds
from nestor.syncer import main
from nestor.syncer.process import health, identity
from tests import children
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.world import CLUSTER, World
from tests.waiting import until

ROOT = Path(__file__).parents[3]


def spawn(world: World, **environment: str) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    """The syncer as its container runs it, apart from flags that say where the test's clusters are."""
    settings = world.settings
    return children.running(
        sys.executable,
        "-m",
        "nestor",
        "syncer",
        f"--access={settings.access}",
        f"--host-kubeconfig={settings.host_kubeconfig}",
        f"--health-port={settings.health_port}",
        f"--kubelet-port={settings.kubelet_port}",
        f"--gate-port={settings.gate_port}",
        f"--services-port={settings.services_port}",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "POD_NAMESPACE": settings.namespace,
            "NESTOR_CLUSTER": settings.cluster,
            **environment,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def test_it_works_as_a_process_and_ends_cleanly(world: World, space: str) -> None:
    await world.stop()
    try:
        async with spawn(world) as process:
            await until(lambda: world.probe("readyz"), lambda found: found == 200)
            await world.host_pod(await world.nested.create(kinds.POD, build_pod(space)))
            process.send_signal(signal.SIGTERM)
            output, _ = await process.communicate()
        assert process.returncode == 0
        assert b"Traceback" not in output
    finally:
        await world.start()


async def test_a_part_that_ends_takes_the_process_along(world: World) -> None:
    """The ports are taken by the syncer that runs already."""
    async with spawn(world) as process:
        output, _ = await process.communicate()
    assert process.returncode == 1
    assert b"address already in use" in output.lower()  # asyncio writes it in small letters, the socket module does not


async def test_renewed_credentials_begin_a_new_process(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator renews the Secret; the container is started anew by its kubelet, which the test plays."""
    await world.stop()
    monkeypatch.setattr(identity, "CHECK_SECONDS", 0.05)
    try:
        task = asyncio.create_task(main.run(world.settings))
        await until(lambda: world.probe("readyz"), lambda found: found == 200)
        world.plane.renew_kubelet()
        with pytest.raises(ExceptionGroup) as caught:
            await task
        assert caught.group_contains(identity.Outdated)
    finally:
        monkeypatch.undo()
        await world.start()


async def test_a_silent_nested_server_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_CHECK_SECONDS", 0.2)
    monkeypatch.setattr(health, "_CALM_SECONDS", 0.2)
    server = world.plane.find_process("kube-apiserver")

    async def ready() -> Any:
        cluster = await world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace)
        return next(item for item in cluster["status"]["conditions"] if item["type"] == "Ready")

    async def is_down() -> bool:
        found = await ready()
        return found["status"] == "False" and found["reason"] == "ServerNotReady" and await world.probe("readyz") == 503

    async def is_up() -> bool:
        return (await ready())["status"] == "True" and await world.probe("readyz") == 200

    server.send_signal(signal.SIGSTOP)
    try:
        await world.eventually(is_down)
    finally:
        server.send_signal(signal.SIGCONT)
    await world.eventually(is_up)
