"""Process 1 of the cluster: makes its surroundings, starts the components in order, ends everything when one of them ends.

Run by `launcher` as `python -m devcluster.cluster.supervisor` inside new pid, mount, uts and ipc namespaces. It restarts
nothing: a component that dies is a fault to look at, so the cluster ends with that component's last words in its state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from dataclasses import dataclass, field
from typing import Any

from devcluster.cluster import api, components, configs, mounts, network, paths, runtime, settings, state
from devcluster.cluster.children import Children
from devcluster.cluster.components import Component
from devcluster.cluster.logs import tail
from devcluster.cluster.paths import Paths

TERMINATE_SECONDS = 3.0


class ComponentEnded(Exception):
    """A component ended although nobody asked it to."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} ended by itself with exit code {code}")
        self.name = name


@dataclass
class Supervisor:
    """The running components."""

    paths: Paths
    children: Children = field(default_factory=Children)
    running: dict[str, tuple[int, asyncio.Future[int]]] = field(default_factory=dict)

    async def run(self) -> None:
        """Start everything, then wait for a stop signal. Raises `ComponentEnded` when a component ends before that."""
        self.children.watch()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        stopped, start = asyncio.create_task(stop.wait()), asyncio.create_task(self._start())
        try:
            await _first(start, stopped, self.failure)
            if start.done():
                await start
                state.save(self.paths, state.State("Running"))
                await _first(stopped, self.failure)
            if self.failure.done():
                await self.failure
        finally:
            start.cancel()
            stopped.cancel()
            await self._stop()

    async def _start(self) -> None:
        for component in components.first(self.paths):
            self._spawn(component)
        client = api.Client(self.paths)
        while not await asyncio.to_thread(client.is_ready):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.05)
        for component in components.after_api(self.paths):
            self._spawn(component)

    def _spawn(self, component: Component) -> None:
        argv = list(component.argv)
        if component.side == "cluster":
            argv = ["nsenter", f"--net={self.paths.netns}", *argv]
        log = self.paths.log / f"{component.name}.log"
        pid, exited = self.children.spawn(argv, configs.environment(self.paths), log)
        self.running[component.name] = (pid, exited)
        exited.add_done_callback(lambda code: self._ended(component.name, code.result()))

    def _ended(self, name: str, code: int) -> None:
        if name in self.running and not self.failure.done():
            self.failure.set_exception(ComponentEnded(name, code))

    async def _stop(self) -> None:
        """End the kubelet, then the pods, then containerd, in this order, so that the image store stays usable. The rest
        needs no order, its data goes away; what is left when process 1 ends is killed by the kernel."""
        with contextlib.suppress(Exception):  # a cluster that failed half-way is simply not clean
            await self._end("kubelet")
            runtime.clean(self.paths)  # blocks on purpose: the event loop would reap the commands that it runs
            if await self._end("containerd") == 0:
                runtime.mark_clean(self.paths)
        await self._end("registry")

    async def _end(self, name: str) -> int | None:
        """Ask a component to end, kill it when it does not; its exit code, None when it never ran."""
        if name not in self.running:
            return None
        pid, exited = self.running.pop(name)
        self.children.signal(pid, signal.SIGTERM)
        try:
            return await asyncio.wait_for(asyncio.shield(exited), TERMINATE_SECONDS)
        except TimeoutError:
            self.children.signal(pid, signal.SIGKILL)
            return await exited


async def _first(*futures: asyncio.Future[Any]) -> None:
    """Wait until one of them is done."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


def prepare(layout: Paths) -> None:
    """Make the node's own host name, mounts and network. Each ends with the namespaces it is made in."""
    socket.sethostname(settings.NODE_NAME)
    mounts.setup(layout)
    network.setup(layout.netns)
    runtime.prepare(layout)


def main() -> int:
    """Run the cluster to its end; the state tells how it ended."""
    layout = paths.default()
    try:
        prepare(layout)
        asyncio.run(Supervisor(layout).run())
    except ComponentEnded as ended:
        message = f"{ended}\n{tail(layout.log / f'{ended.name}.log')}"
        state.save(layout, state.State("Failed", message, ended.name))
        return 1
    except Exception as error:
        logging.exception("the supervisor failed")
        state.save(layout, state.State("Failed", f"{type(error).__name__}: {error}", "supervisor"))
        return 1
    state.save(layout, state.State("Stopped"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
