"""All pods of the backend: accepted, listed, read and ended by UID."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from devcluster.plugin import logs, record, refusals, room, spec, status, surroundings, volumes
from devcluster.plugin.life import Life
from devcluster.plugin.logs import Options
from devcluster.plugin.record import Pod
from devcluster.plugin.runner import Place, Runner
from devcluster.plugin.switches import Switchboard
from nestor.api.objects import Object

GRACE_SECONDS = 30.0
"""Kubernetes' own default."""


class Unknown(Exception):
    """There is no such pod, container or log."""


class Exists(Exception):
    """The pod was accepted before."""


class Backend:
    """The pods. Made inside the running event loop."""

    def __init__(self, place: Place, board: Switchboard) -> None:
        self._place, self._board = place, board
        self._lives: dict[str, Life] = {}
        self._room = room.Room()
        self._room_changed = asyncio.Event()
        board.on_change(self._look_again)

    async def begin(self) -> None:
        """Take over the pods of the backend before a restart, or forget them; remove containers that are nobody's."""
        self._place.home.mkdir(parents=True, exist_ok=True)
        for pid in self._place.ctr.starts_under_way():
            await surroundings.wait_for_exit(pid)  # else such a container would be started a second time
        if self._board.now.forget:
            self._board.change({"forget": False})
            for file in self._files():
                life, _ = self._new_life(pod := record.load(file))
                await life.remove()
                self._forget(pod)
        tasks = await self._place.ctr.tasks()
        for file in self._files():
            await self._take_over(record.load(file), tasks)
        known = {run.id for pod in self.records() for container in pod.containers for run in container.runs}
        for container in await self._place.ctr.containers():
            if container not in known:
                await self._place.ctr.remove(container)

    async def close(self) -> None:
        """Stop looking after the pods; they outlive the plugin."""
        for life in list(self._lives.values()):
            await life.leave()

    async def create(self, pod: Object, groups: Iterable[Object]) -> Object:
        """Accept a pod. Raises `Refused`, or `Exists` for one that was accepted before."""
        refusals.check(pod)
        uid = pod["metadata"]["uid"]
        if (known := self._lives.get(uid)) is not None:
            if self._board.now.repeat == "refuse":
                raise Exists(f"pod {uid} exists already, as {known.record.jid}")
            return self._answer(known.record)
        room.check(pod, self._board.now.resources)
        folders = self._place.folders(uid)
        for container in [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]:
            spec.build(pod, container, folders, {})
        data = volumes.collect(groups)
        volumes.write(pod, data, folders)
        accepted = record.new(pod, data, f"job-{uuid.uuid4().hex[:8]}")
        record.save(accepted, self._file(uid))
        self._new_life(accepted)[0].begin(self._admit)
        return self._answer(accepted)

    def delete(self, pod: Object) -> None:
        """Begin to end a pod. Raises `Unknown`."""
        uid = pod["metadata"]["uid"]
        if uid not in self._lives:
            raise Unknown(f"pod {uid} not found")
        given = pod["metadata"].get("deletionGracePeriodSeconds")
        own = (pod.get("spec") or {}).get("terminationGracePeriodSeconds")
        self._lives[uid].end(float(next((value for value in (given, own) if value is not None), GRACE_SECONDS)))

    def status(self, pods: Iterable[Object]) -> list[Object]:
        """How the pods are; of one that is not known, an entry that tells no state."""
        board, result = self._board.now, []
        for pod in pods:
            uid = pod["metadata"]["uid"]
            is_shown = uid in self._lives and uid not in board.hidden
            result.append(status.build(self._lives[uid].record, board.skew) if is_shown else status.build_unknown(pod))
        return result

    def log(self, uid: str, name: str, options: Options) -> AsyncIterator[bytes]:
        """A container's log. Raises `Unknown`."""
        life = self._lives.get(uid)
        container = life.record.container(name) if life else None
        if container is None:
            raise Unknown(f"pod {uid} with a container '{name}' not found")
        runs = container.runs[:-1] if options.previous and not container.waiting else container.runs
        if not runs:
            raise Unknown(f"container '{name}' of pod {uid} has no {'previous ' * options.previous}log yet")
        run = runs[-1]
        return logs.stream(self._place.folders(uid).logs / f"{run.id}.log", options, lambda: bool(run.finished))

    def records(self) -> list[Pod]:
        """All pods, those that end among them."""
        return [life.record for life in self._lives.values()]

    async def _take_over(self, pod: Pod, tasks: dict[str, int]) -> None:
        life, runner = self._new_life(pod)
        if pod.is_admitted:
            self._room.restore(pod.uid, pod.pod, pod.devices)
        await runner.adopt(tasks)
        if pod.is_deleted:
            self.delete(pod.pod)
        else:
            life.begin(self._admit)

    def _new_life(self, pod: Pod) -> tuple[Life, Runner]:
        file = self._file(pod.uid)
        runner = Runner(self._place, pod, lambda: self._board.now.backoff, lambda: record.save(pod, file))
        life = self._lives[pod.uid] = Life(self._place, pod, runner, file, self._forget)
        return life, runner

    async def _admit(self, pod: Pod) -> None:
        while True:
            if not self._board.now.hold:
                devices = self._room.take(pod.uid, pod.pod, self._board.now.resources)
                if devices is not None:
                    pod.devices, pod.is_admitted = devices, True
                    return
            await self._room_changed.wait()

    def _forget(self, pod: Pod) -> None:
        del self._lives[pod.uid]
        self._room.release(pod.uid)
        self._look_again()

    def _look_again(self) -> None:
        """Wake all pods that wait for room; those that come later wait for the next time."""
        self._room_changed.set()
        self._room_changed = asyncio.Event()

    def _files(self) -> list[Path]:
        return sorted(self._place.home.glob("*.json"))

    def _file(self, uid: str) -> Path:
        return self._place.home / f"{spec.safe_path(uid)}.json"

    @staticmethod
    def _answer(pod: Pod) -> Object:
        return {"PodUID": pod.uid, "PodJID": pod.jid}
