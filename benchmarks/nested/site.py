"""Two control planes and a syncer between them as its container runs it; the benchmark plays scheduler and kubelet."""

import asyncio
import contextlib
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp

from benchmarks.jobs import processes
from benchmarks.nested.installed import installed
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.syncer import world as worlds
from tests.integration.syncer.world import World

SPACE = "apps"
_COUNT = re.compile(r'nestor_syncer_requests_total\{code="[^"]+",method="(\w+)",side="(\w+)"\} (\d+)')


class Site:
    """The syncer's process, and what can be seen of it."""

    def __init__(self, world: World, process: asyncio.subprocess.Process) -> None:
        self.world = world
        self.process = process

    @property
    def memory(self) -> float:
        """Resident, in MB."""
        return processes.read_memory(self.process.pid, "Rss")

    @property
    def busy(self) -> float:
        """Seconds of processor time that the process has taken."""
        return processes.read(self.process.pid).own

    async def count(self) -> Counter[str]:
        """Requests since its start, by side: all but watches."""
        url = f"http://127.0.0.1:{self.world.settings.health_port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            text = await answer.text()
        found: Counter[str] = Counter()
        for method, side, number in _COUNT.findall(text):
            found[side] += int(number) if method != "WATCH" else 0
        return found


@contextlib.asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """A running syncer of its own, and a nested namespace for pods."""
    async with (
        apiserver.running() as plane,
        worlds.running_nested() as nested_plane,
        await Api.connect(str(plane.kubeconfig), manager="benchmarks") as host,
        await Api.connect(str(nested_plane.kubeconfig), manager="benchmarks") as nested,
    ):
        world = await worlds.build_world(host, plane, nested_plane, nested)
        async with _running(world) as process:
            await world.eventually(lambda: _is_ready(world))
            await nested.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
            await world.eventually(lambda: nested.find(kinds.SERVICE_ACCOUNT, "default", SPACE))
            yield Site(world, process)


async def _is_ready(world: World) -> bool:
    return await world.probe("readyz") == 200


@contextlib.asynccontextmanager
async def _running(world: World) -> AsyncIterator[asyncio.subprocess.Process]:
    own = world.settings
    command = [sys.executable, "-m", "nestor", "syncer", f"--access={own.access}", f"--host-kubeconfig={own.host_kubeconfig}"]
    command += [f"--health-port={own.health_port}", f"--kubelet-port={own.kubelet_port}", f"--gate-port={own.gate_port}"]
    with installed() as folder:
        environment = {"PYTHONPATH": str(folder), "POD_NAMESPACE": own.namespace, "NESTOR_CLUSTER": own.cluster}
        async with children.running(*command, env=environment) as process:
            yield process
