"""One pod from its acceptance to its removal."""

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from devcluster.plugin import decide, record, surroundings
from devcluster.plugin.record import Pod
from devcluster.plugin.runner import Place, Runner

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
"""How often an ending pod looks whether its grace has been shortened."""


class Life:
    """One pod. `admit` returns once there is room for it; `gone` is called when nothing of it is left."""

    def __init__(self, place: Place, pod: Pod, runner: Runner, file: Path, gone: Callable[[Pod], None]) -> None:
        self.record = pod
        self._place, self._runner, self._file, self._gone = place, runner, file, gone
        self._working: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._deadline = float("inf")

    def begin(self, admit: Callable[[Pod], Awaitable[None]]) -> None:
        """Run the pod."""
        self._working = asyncio.create_task(self._work(admit), name=f"pod {self.record.uid}")

    def end(self, grace_seconds: float) -> None:
        """End it within so many seconds, and remove it. A later call can only shorten that."""
        self._deadline = min(self._deadline, time.monotonic() + grace_seconds)
        if self._ending is None:
            self.record.is_deleted = True
            record.save(self.record, self._file)
            self._ending = asyncio.create_task(self._end(), name=f"end of pod {self.record.uid}")

    async def leave(self) -> None:
        """Stop looking after it, as at the end of the process: what runs of it runs on."""
        tasks = [task for task in (self._working, self._ending, *self._runner.watchers.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, admit: Callable[[Pod], Awaitable[None]]) -> None:
        try:
            if not self.record.is_admitted:
                await admit(self.record)
                record.save(self.record, self._file)
            await surroundings.make_network(self._place.networks / self.record.uid)
            await self._run_containers()
        except Exception as error:
            log.exception("pod %s cannot be run", self.record.uid)
            self.record.failure = str(error)

    async def _run_containers(self) -> None:
        while not self.record.is_deleted:
            self._runner.changed.clear()
            step = decide.next_step(self.record, time.time())
            if step.is_finished:
                return
            for name in step.start:
                container = self.record.container(name)
                if container is not None and not self.record.is_deleted:
                    await self._runner.start(container)
            if not step.start:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(step.wait):
                        await self._runner.changed.wait()

    async def _end(self) -> None:
        await self._stop_working()
        for name in list(self._runner.watchers):
            await self._place.ctr.signal(name, "SIGTERM")
        while self._runner.watchers and (left := self._deadline - time.monotonic()) > 0:
            await asyncio.wait(list(self._runner.watchers.values()), timeout=min(left, LOOK_SECONDS))
        watchers = dict(self._runner.watchers)
        for name in watchers:
            await self._place.ctr.signal(name, "SIGKILL")
        await asyncio.gather(*watchers.values(), return_exceptions=True)
        await self.remove()
        self._gone(self.record)

    async def _stop_working(self) -> None:
        """A container that is being started is started to the end: else it could be lost sight of."""
        if self._working is None:
            return
        if not self.record.is_admitted:
            self._working.cancel()
        self._runner.changed.set()
        await asyncio.gather(self._working, return_exceptions=True)

    async def remove(self) -> None:
        """Remove what is left of the pod on the machine; its containers are ended by force."""
        for run in [run for container in self.record.containers for run in container.runs]:
            if not run.finished:
                await self._place.ctr.remove(run.id)
        await surroundings.remove_network(self._place.networks / self.record.uid)
        await surroundings.remove_cgroup(self._place.pod_cgroup(self.record.uid))
        shutil.rmtree(self._place.folders(self.record.uid).home, ignore_errors=True)
        self._file.unlink(missing_ok=True)
