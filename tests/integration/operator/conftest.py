"""One control plane and one operator per test run, a namespace per test."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import aiohttp
import pytest

from nestor.kube import Api, Forbidden, Kind, NotFound, kinds
from nestor.operator.main import RECURSION_LIMIT
from tests.children import WITH_US
from tests.heard import Process, heard
from tests.integration import apiserver, late
from tests.integration.chart import ALLOW_PRIVILEGED, install_roles
from tests.integration.operator.world import VERSIONS, build_class
from tests.samples import read_samples
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]
ACCOUNT = "system:serviceaccount:nestor-system:nestor"
sys.setrecursionlimit(RECURSION_LIMIT)  # hostile jobs stay, and tests list what the operator has to read
START_SECONDS = 120
"""At most, until an operator is ready."""


@dataclass
class Operator:
    """A running operator: the process, and its health port."""

    process: asyncio.subprocess.Process
    port: int
    log: Path
    is_killed: bool = False
    is_deposed: bool = False

    def kill(self) -> None:
        """End it without giving it a chance to do anything."""
        self.is_killed = True
        self.process.kill()

    async def health(self, page: str = "readyz") -> int:
        """The status of one of its pages; 0 when nobody listens."""
        try:
            async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/{page}") as answer:
                return answer.status
        except aiohttp.ClientError:
            return 0

    async def read_metrics(self) -> dict[tuple[str, ...], float]:
        """All samples of its page: by name, and the values of the labels in the order of their names."""
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return read_samples(await answer.text())

    def count_passes(self, kind: Kind, namespace: str) -> Counter[str]:
        """How often it has looked at each object of a namespace so far."""
        return Counter(re.findall(rf"{kind.name} {namespace}/(\S+) reconciled", self.log.read_text()))

    async def heard(self, api: Api) -> None:
        """Await that it knows everything and has nothing to do; see `tests.heard`."""
        await heard(Process(self.port, {"host": api}))


@contextlib.asynccontextmanager
async def operator_running(
    plane: apiserver.ControlPlane,
    *,
    give_up: int = 300,
    probes: bool = False,
    more: Mapping[str, str] = MappingProxyType({}),
    mortal: bool = False,
) -> AsyncIterator[Operator]:
    """An operator for the length of a `with` block: a process as in the image, with the rights of the chart.

    `give_up`: how long it deletes a job, in seconds; by default, as in the chart: the host's own controllers take five of them,
    and more on a busy machine. `probes`: whether it tries the host's network policies. `more`: variables.
    `mortal`: it kills itself, perhaps before it is ready (see `mortal.py`).
    """
    (port,) = apiserver.free_ports(1)
    log = plane.folder / f"operator-{port}.log"
    async with late.kubeconfig_of(plane, ACCOUNT) as kubeconfig:
        environment = os.environ | {
            "KUBECONFIG": str(kubeconfig),
            "NESTOR_IMAGE": "nestor.test/nestor:1",
            "NESTOR_K3S_VERSIONS": json.dumps(VERSIONS),
            "NESTOR_PORT": str(port),
            "NESTOR_FORCE_AFTER": "4",
            "NESTOR_GIVE_UP_AFTER": str(give_up),
            "NESTOR_LOG_LEVEL": "debug",
            "NESTOR_METRICS": "true",
            "NESTOR_NETWORK_PROBE": str(probes).lower(),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            **more,
        }
        with log.open("wb") as output:
            program = "tests.integration.operator.mortal" if mortal else "nestor"
            process = await asyncio.create_subprocess_exec(
                *WITH_US, sys.executable, "-m", program, "operator", env=environment, stdout=output, stderr=output
            )
        operator = Operator(process, port, log, is_killed=mortal)
        try:
            if not mortal:
                await _await_health(operator)
            yield operator
        finally:
            # Who signals a process that has just ended may take its exit code away from asyncio, which then says 255.
            if process.returncode is None and not operator.is_killed:
                process.terminate()
            expected = -signal.SIGKILL if operator.is_killed else 1 if operator.is_deposed else 0
            assert await asyncio.wait_for(process.wait(), 30) == expected, log.read_text()[-5000:]


async def _await_health(operator: Operator) -> None:
    """Until it has read everything that is there. Some tests leave it much to read, and the machine may be busy with others."""
    try:
        async with asyncio.timeout(START_SECONDS):
            while await operator.health() != 200:
                assert operator.process.returncode is None, operator.log.read_text()
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not ready after {START_SECONDS} s: {operator.log.read_text()[-5000:]}") from None


async def await_rights(plane: apiserver.ControlPlane) -> None:
    """The operator's rights are in force, a moment after helm has installed them."""

    async def may_list() -> bool:
        async with await Api.connect(str(plane.kubeconfig_of(ACCOUNT))) as client:
            try:
                await client.list(kinds.OVERFLOW_BACKEND)
            except (Forbidden, NotFound):
                return False
            return True

    await eventually(may_list)


@contextlib.asynccontextmanager
async def plane_running(*arguments: str, plugins: tuple[str, ...] = apiserver.HARDENED) -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane with the chart's roles and a default class, without an operator. `arguments`: of helm."""
    async with apiserver.running(plugins=plugins) as running, await Api.connect(str(running.kubeconfig), manager="test") as api:
        await install_roles(api, *arguments)
        await api.apply(kinds.NESTED_CLASS, build_class())
        yield running


@pytest.fixture(scope="session")
async def plane() -> AsyncIterator[apiserver.ControlPlane]:
    """The control plane that these tests share."""
    async with plane_running(*ALLOW_PRIVILEGED) as running:
        yield running


@pytest.fixture(scope="session")
async def second_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane for tests that start and stop their operators themselves."""
    async with plane_running(*ALLOW_PRIVILEGED) as running:
        yield running


@pytest.fixture(scope="session")
async def spare_plane() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane for tests whose operators no other test is to see."""
    async with plane_running() as running:
        yield running


@pytest.fixture(scope="session")
async def guarded() -> AsyncIterator[apiserver.ControlPlane]:
    """A control plane with the policies of the chart's own values, and with Kueue, for whoever attacks them. `deployer` may write
    hosts of jobs.

    Without the plugin that refuses some owners by itself: most clusters do not have it.
    """
    async with plane_running("--set", "kueue.enabled=true", "--set", "hosts.users={deployer}", plugins=()) as running:
        yield running


@pytest.fixture
async def lonely(second_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client of the control plane without an operator."""
    async with await Api.connect(str(second_plane.kubeconfig), manager="test") as client:
        yield client


@pytest.fixture(scope="session")
async def operator(plane: apiserver.ControlPlane) -> AsyncIterator[Operator]:
    """An operator that runs as long as the tests do; what it said is shown when a test fails."""
    async with operator_running(plane) as running:
        yield running


@pytest.fixture(scope="session")
async def api(plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with all rights."""
    async with await Api.connect(str(plane.kubeconfig), manager="test") as client:
        yield client


@pytest.fixture
async def namespace(api: Api) -> str:
    """A user's namespace. Its jobs stay: to delete one takes as much processor time as to make one."""
    name = f"team-{uuid.uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACE, {"metadata": {"name": name}})
    return name
