"""The process as its container runs it, before a real API server and an interLink backend over HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from nestor.api.objects import status_of
from nestor.kube import kinds
from tests import children
from tests.fakes.interlink import FakeInterlink
from tests.integration.vnode.world import World
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]
MEGABYTES = 150
"""What the process may take with a thousand pods."""


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


def read_peak(pid: int) -> float:
    """The most that the process has had in memory so far, in MB."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


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


@pytest.mark.slow
async def test_a_process_that_is_killed_loses_and_doubles_nothing(virtual: World, link: FakeInterlink) -> None:
    """Fifty pods run, and fifty more are being sent."""
    names = [f"web-{index}" for index in range(100)]
    async with spawn(virtual) as process:
        await eventually(lambda: is_ready(virtual))
        first = await asyncio.gather(*(virtual.bind(name, automountServiceAccountToken=False) for name in names[:50]))
        await virtual.until(lambda: len(link.pods) == 50)
        for uid in first:
            link.run(uid)
        await virtual.phase(names[0], "Running")
        rest = asyncio.gather(*(virtual.bind(name, automountServiceAccountToken=False) for name in names[50:]))
        await virtual.until(lambda: len(link.pods) > 60)
        process.kill()
        await process.wait()
    uids = [*first, *await rest]
    for uid in first[:10]:
        link.end(uid)
    async with spawn(virtual):
        await virtual.until(lambda: len(link.pods) == len(names))
        for uid in uids[10:]:
            link.run(uid)

        async def count() -> bool:
            pods = await virtual.api.list(kinds.POD, virtual.space)
            phases = [status_of(pod).get("phase") for pod in pods]
            return (phases.count("Succeeded"), phases.count("Running")) == (10, 90)

        await eventually(count)
    assert sorted(link.starts) == sorted(uids)


async def test_a_part_that_ends_takes_the_process_along(virtual: World, link: FakeInterlink) -> None:
    """The port is taken."""
    port = virtual.settings.kubelet_port
    listener = await asyncio.start_server(lambda _, __: None, "127.0.0.1", port)
    async with listener, spawn(virtual) as process:
        output, _ = await process.communicate()
    assert process.returncode == 1
    assert f"Address already in use (while attempting to bind on address ('127.0.0.1', {port}))" in output.decode()


@pytest.mark.slow
async def test_a_thousand_pods_fit(virtual: World, link: FakeInterlink) -> None:
    names = [f"web-{index}" for index in range(1000)]
    begin = asyncio.Semaphore(20)

    async def bind(name: str) -> str:
        async with begin:
            return await virtual.bind(name, automountServiceAccountToken=False)

    async with spawn(virtual) as process:
        await eventually(lambda: is_ready(virtual))
        uids = await asyncio.gather(*(bind(name) for name in names))
        await virtual.until(lambda: len(link.pods) == len(names))
        for uid in uids:
            link.run(uid)

        async def are_running() -> bool:
            pods = await virtual.api.list(kinds.POD, virtual.space)
            return [status_of(pod).get("phase") for pod in pods].count("Running") == len(names)

        await eventually(are_running)
        asked = len(link.asked)
        await virtual.until(lambda: link.asked[asked:].count("GET /status") >= 3)
        used = read_peak(process.pid)
        print(f"{used:.0f} MB at most")
    calls = [body for what, body in zip(link.asked[asked:], link.bodies[asked:], strict=True) if what == "GET /status"]
    assert all(len(body) == len(names) for body in calls)
    assert len(set(link.starts)) == len(link.starts) == len(names)
    assert used <= MEGABYTES
