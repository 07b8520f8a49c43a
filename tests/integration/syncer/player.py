"""The host's scheduler and kubelet at work: pods are bound, run, and end when their deletion is asked for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nestor.kube import Change, Conflict, Informer, NotFound, WorkQueue, kinds
from nestor.kube.informer import Key
from tests.integration.syncer.world import World


class Player:
    """Plays for one world. `made` counts the host pods that ever were; `may_end` unset keeps pods in their grace period."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.pods = Informer(world.host, kinds.POD, world.namespace)
        self.made: set[str] = set()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.queue: WorkQueue[Key] = WorkQueue(self._play, workers=8, name="player", max_delay=1)
        self.pods.on_change(self._on_change)

    def _on_change(self, change: Change) -> None:
        self.made.add(change.latest["metadata"]["uid"])
        self.queue.add(change.key)

    def end_all(self) -> None:
        """Let the pods end that were kept."""
        self.may_end.set()
        for key in self.pods.store:
            self.queue.add(key)

    async def _play(self, key: Key) -> None:
        pod = self.pods.get(key[1], key[0])
        if pod is None:
            return
        with contextlib.suppress(NotFound, Conflict):
            if pod["metadata"].get("deletionTimestamp"):
                if self.may_end.is_set():
                    await self._world.finish(pod)
            elif not pod["spec"].get("nodeName"):
                await self._world.run(pod)


@contextlib.asynccontextmanager
async def playing(world: World) -> AsyncIterator[Player]:
    """A player for the length of a `with` block."""
    player = Player(world)
    tasks = [asyncio.create_task(player.pods.run()), asyncio.create_task(player.queue.run())]
    try:
        await player.pods.synced.wait()
        yield player
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
