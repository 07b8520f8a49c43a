"""What fails here, each for a while: processes of the embedded cluster and of the pods in it, and nodes."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random

import devcluster.cluster
from devcluster import progress
from devcluster.cluster import launcher, paths, state
from devcluster.plugin.orders import Client
from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.chaos.story import Story, insist

SYSTEM = "nestor-system"
SECOND = "nestor-dev-2"
PROGRAMS = ("kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler", "registry")
"""Of the control plane, by a word of their command line."""
PARTS = {
    "k3s server": labels.COMPONENT_SERVER,
    "nestor syncer": labels.COMPONENT_SERVER,
    "coredns": labels.COMPONENT_SERVER,
    "nestor runner": labels.COMPONENT_RUNNER,
    "nestor vnode": labels.COMPONENT_VNODE,
}
"""Programs of jobs' and backends' own pods, and the component whose pod they are in."""


def find_processes(word: str, uid: str = "") -> list[int]:
    """Processes of the embedded cluster whose command line has this word, of the pod with that UID if it is given."""
    supervisor = state.load_supervisor(paths.default())
    found = launcher.members(supervisor) if supervisor else []
    return [pid for pid in found if word in _read(pid, "cmdline").replace("\0", " ") and uid in _read(pid, "cgroup")]


def _read(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/{file}").read_text(errors="replace")
    except OSError:
        return ""


def _signal(pids: list[int], number: signal.Signals) -> None:
    if not pids:
        raise LookupError("there is no such process")
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextlib.asynccontextmanager
async def paused(pids: list[int]) -> AsyncIterator[None]:
    """The processes do nothing for the length of a `with` block."""
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:  # those that were there: what is stopped does not end by itself
        _signal(pids, signal.SIGCONT)


class Faults:
    """Makes faults, one at a time, each healed before the next."""

    def __init__(self, api: Api, backend: Client, random: Random, story: Story) -> None:
        self._api, self._backend, self._random, self._story = api, backend, random, story
        self.made: dict[str, int] = {}
        self._all: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("operator killed", self._kill_operator),
            ("operator stopped", self._stop_operator),
            ("operator deleted", self._delete_operator),
            ("part killed", self._kill_part),
            ("part killed", self._kill_part),
            ("part stopped", self._stop_part),
            ("pod deleted", self._delete_pod),
            ("pod deleted", self._delete_pod),
            ("control plane stopped", self._stop_program),
            ("backend killed", self._kill_backend),
            ("backend in trouble", self._trouble_backend),
            ("node lost", self._lose_node),
            ("node drained", self._drain_node),
        ]

    async def make(self) -> None:
        """One fault, at random, to its end."""
        name, act = self._random.choice(self._all)
        try:
            await act()
        except LookupError as nothing:
            self._story.tell(f"no fault: {nothing}")
        else:
            self.made[name] = self.made.get(name, 0) + 1

    async def _choose_pod(self, chosen: str, namespace: str | None = None) -> Object:
        if not (found := await insist(lambda: self._api.list(kinds.POD, namespace, labels=chosen))):
            raise LookupError(f"there is no pod with {chosen}")
        return self._random.choice(found)

    async def _choose_operator(self) -> Object:
        return await self._choose_pod("app.kubernetes.io/name=nestor", SYSTEM)

    async def _kill_operator(self) -> None:
        pod = await self._choose_operator()
        self._story.tell("the operator is killed")
        _signal(find_processes("nestor", pod["metadata"]["uid"]), signal.SIGKILL)

    async def _stop_operator(self) -> None:
        pod, seconds = await self._choose_operator(), self._random.choice((5, 20, 60, 150))
        self._story.tell(f"the operator is stopped for {seconds} s")
        async with paused(find_processes("nestor", pod["metadata"]["uid"])):
            await asyncio.sleep(seconds)

    async def _delete_operator(self) -> None:
        pod = await self._choose_operator()
        self._story.tell("the operator's pod is deleted")
        await self._delete(pod, 0)

    async def _choose_part(self) -> tuple[str, list[int]]:
        word = self._random.choice(list(PARTS))
        pod = await self._choose_pod(labels.selector(component=PARTS[word]))
        return f"{word} of {pod['metadata']['namespace']}", find_processes(word, pod["metadata"]["uid"])

    async def _kill_part(self) -> None:
        what, pids = await self._choose_part()
        self._story.tell(f"{what} is killed")
        _signal(pids, signal.SIGKILL)

    async def _stop_part(self) -> None:
        (what, pids), seconds = await self._choose_part(), self._random.choice((3, 15, 45))
        self._story.tell(f"{what} is stopped for {seconds} s")
        async with paused(pids):
            await asyncio.sleep(seconds)

    async def _delete_pod(self) -> None:
        pod = await self._choose_pod(labels.COMPONENT)
        self._story.tell(f"pod {pod['metadata']['name']} of {pod['metadata']['namespace']} is deleted")
        await self._delete(pod, self._random.choice((None, 0)))

    async def _delete(self, pod: Object, grace: int | None) -> None:
        meta = pod["metadata"]
        await insist(lambda: self._api.delete(kinds.POD, meta["name"], meta["namespace"], grace_seconds=grace))

    async def _stop_program(self) -> None:
        word = self._random.choice(PROGRAMS)
        seconds = self._random.choice((1, 5, 20, 60) if word != "kube-apiserver" else (1, 10, 60, 180))
        self._story.tell(f"{word} is stopped for {seconds} s")
        async with paused(find_processes(f"{word} ")):
            await asyncio.sleep(seconds)

    async def _kill_backend(self) -> None:
        self._story.tell("the backend's server is killed")
        await asyncio.to_thread(self._backend.restart)

    async def _trouble_backend(self) -> None:
        kind, seconds = self._random.choice(("drop", "lost", "error", "garbage")), self._random.choice((5, 30, 120))
        self._story.tell(f"requests to the backend end in '{kind}' for {seconds} s")
        await asyncio.to_thread(self._backend.switch, faults=[{"kind": kind}])
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self._backend.switch, faults=[])

    async def _lose_node(self) -> None:
        seconds = self._random.choice((5, 40))
        self._story.tell(f"node {SECOND} is lost for {seconds} s")
        await asyncio.to_thread(devcluster.cluster.node, "stop", SECOND, progress.Silent())
        await asyncio.sleep(seconds)
        await asyncio.to_thread(devcluster.cluster.node, "start", SECOND, progress.Silent())

    async def _drain_node(self) -> None:
        """As `kubectl drain`: no new pods, and those that are there are evicted."""
        self._story.tell(f"node {SECOND} is drained")
        await self._cordon(on=True)
        for pod in await insist(lambda: self._api.list(kinds.POD, None, fields=f"spec.nodeName={SECOND}")):
            if not any(item.get("kind") == "DaemonSet" for item in pod["metadata"].get("ownerReferences") or ()):
                await self._delete(pod, None)
        await asyncio.sleep(20)
        await self._cordon(on=False)

    async def _cordon(self, *, on: bool) -> None:
        await insist(lambda: self._api.patch(kinds.NODE, SECOND, None, {"spec": {"unschedulable": on or None}}))
