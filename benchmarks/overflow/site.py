"""One backend with its virtual node, whose process runs as its container would; the benchmark plays operator and scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from benchmarks.overflow.backend import LightBackend
from nestor.api.objects import Object, status_of
from nestor.kube import Api, Change, Informer, kinds
from tests import children
from tests.integration import chart
from tests.integration.vnode import world
from tests.integration.vnode.world import USER, NodePlane, World, mark_of
from tests.waiting import eventually, wait_for

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120
_TOGETHER = 20


class Site(World):
    """`backend` is that of tests, and unused here."""

    light: LightBackend
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process, and await that it is ready."""
        own = self.settings
        command = [sys.executable, "-m", "nestor", "vnode", f"--backend={own.backend}", f"--folder={own.folder}"]
        command += [f"--kubeconfig={own.kubeconfig}", f"--health-port={own.health_port}", f"--kubelet-port={own.kubelet_port}"]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "POD_NAMESPACE": own.namespace}
        log = (own.folder.parent / f"{own.backend}.log").open("ab")
        with log:
            self.process = await asyncio.create_subprocess_exec(
                *children.WITH_US, *command, env=environment | {"POD_IP": own.address}, stdout=log, stderr=log
            )
        await eventually(self._is_ready, READY_SECONDS)

    async def stop(self) -> None:
        """Kill the process."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    @property
    def memory(self) -> float:
        """What the process takes, in MB: its own memory, and its share of what it has in common with others (PSS)."""
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith("Pss:")]
        return int(line.split()[1]) / 1024

    @property
    def busy(self) -> float:
        """Seconds of processor time that the process has taken."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def bind_many(self, names: list[str]) -> None:
        """So many pods, some at a time."""
        gate = asyncio.Semaphore(_TOGETHER)

        async def one(name: str) -> None:
            async with gate:
                await self.bind(name, automountServiceAccountToken=False)

        await asyncio.gather(*(one(name) for name in names))


class Observer:
    """When pods of a namespace became what they are: `accepted` and `ended` by UID, in monotonic time."""

    def __init__(self, api: Api, space: str) -> None:
        self.accepted: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.running: set[str] = set()
        self.informer = Informer(api, kinds.POD, space, trim=_trim)
        self.informer.on_change(self._note)

    def _note(self, change: Change) -> None:
        if change.new is None:
            return
        uid, now = change.new["metadata"]["uid"], time.monotonic()
        phase = status_of(change.new).get("phase")
        if mark_of(change.new) == "Accepted":
            self.accepted.setdefault(uid, now)
        if phase == "Running":
            self.running.add(uid)
        if phase in ("Succeeded", "Failed"):
            self.ended.setdefault(uid, now)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[Observer]:
        """Observe for the length of a `with` block."""
        task = asyncio.create_task(self.informer.run())
        try:
            await self.informer.synced.wait()
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _trim(pod: Object) -> Object:
    meta = {key: pod["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
    return {"metadata": meta, "spec": {}, "status": pod.get("status") or {}}


async def until(check: Any, limit: float) -> float:
    """Seconds until this is so."""
    begin = time.monotonic()

    async def look() -> bool:
        return bool(check())

    await eventually(look, limit)
    return time.monotonic() - begin


@contextlib.asynccontextmanager
async def plane() -> AsyncIterator[tuple[NodePlane, Api]]:
    """The control plane with Nestor's rights, and its admin."""
    async with world.plane() as made, await Api.connect(str(made.kubeconfig), manager="benchmarks") as api:
        await chart.install_roles(api)
        group = "rbac.authorization.k8s.io"
        subjects = [{"apiGroup": group, "kind": "User", "name": USER}]
        role = {"apiGroup": group, "kind": "ClusterRole", "name": "nestor-vnode"}
        await api.apply(kinds.CLUSTER_ROLE_BINDING, {"metadata": {"name": USER}, "roleRef": role, "subjects": subjects})
        yield made, api


@contextlib.asynccontextmanager
async def site(made: NodePlane, api: Api, name: str, seconds: float) -> AsyncIterator[Site]:
    """A backend whose pods run for so long, its process, and a namespace for its pods."""
    await api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await wait_for(api, kinds.SERVICE_ACCOUNT, "default", name, bool)
    await wait_for(api, kinds.CONFIG_MAP, "kube-root-ca.crt", name, bool)
    plain = await world.make(made, api, name, name, made.folder / name)
    plain.settings.folder.mkdir()
    found = Site(api, plain.settings, name)
    found.light = LightBackend(seconds)
    async with found.light.serve() as url:
        found.url = url
        try:
            await found.begin()
            yield found
        finally:
            await found.end()


def median(values: list[float]) -> float:
    """The middle one."""
    return sorted(values)[len(values) // 2] if values else float("nan")


def describe(values: list[float]) -> str:
    """Median, the 90th of a hundred, and the last, in seconds."""
    ordered = sorted(values)
    if not ordered:
        return "none"
    return f"median {median(ordered):.2f} s · p90 {ordered[int(len(ordered) * 0.9)]:.2f} s · last {ordered[-1]:.2f} s"


def names(count: int) -> Iterator[str]:
    """Names of pods."""
    return (f"web-{index}" for index in range(count))
