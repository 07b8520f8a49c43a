"""The life of a set of programs: started by process 1 of a pid namespace, ended together when one of them ends by itself."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.cluster import state
from devcluster.cluster.children import Children
from devcluster.cluster.components import Component

TERMINATE_SECONDS = 3.0


class ComponentEnded(Exception):
    """A component ended although nobody asked it to."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} ended by itself with exit code {code}")
        self.name = name


@dataclass(frozen=True)
class Running:
    """A program under way."""

    component: Component
    pid: int
    exited: asyncio.Future[int]


class Processes:
    """The running programs, each with its output in a file below `log`. Made inside the running event loop."""

    def __init__(self, log: Path, environment: Mapping[str, str]) -> None:
        self._log, self._environment = log, environment
        self._children = Children()
        self._running: dict[str, Running] = {}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._children.watch()

    async def serve(self, start: Callable[[], Awaitable[None]], stop: Callable[[], Awaitable[None]]) -> None:
        """Run `start`, wait for a signal to stop, run `stop`. Raises `ComponentEnded` when a program ends before that."""
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        stopped, started = asyncio.create_task(stopping.wait()), asyncio.ensure_future(start())
        try:
            await _first(started, stopped, self._failure)
            if started.done():
                await started
                await _first(stopped, self._failure)
            if self._failure.done():
                await self._failure
        finally:
            started.cancel()
            stopped.cancel()
            await stop()

    def spawn(
        self, component: Component, prefix: Sequence[str] = (), stdin: int | None = None, notify: str | None = None
    ) -> None:
        """Start a program, `prefix` before its command line, with nothing to read unless `stdin` is a file descriptor. It may
        say on the socket `notify` that it is ready."""
        log = self._log / f"{component.name}.log"
        environment = {**self._environment, "NOTIFY_SOCKET": notify} if notify else self._environment
        pid, exited = self._children.spawn([*prefix, *component.argv], environment, log, stdin)
        self._running[component.name] = Running(component, pid, exited)
        exited.add_done_callback(lambda code: self._ended(component.name, code.result()))

    async def spawn_ready(self, component: Component) -> None:
        """Start a program and wait until it says that it is ready, as systemd does for services of type `notify`."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
            heard.setblocking(False)
            heard.bind("")  # the kernel chooses an abstract address, which ends with the socket
            self.spawn(component, notify="@" + heard.getsockname()[1:].decode())
            await asyncio.get_running_loop().sock_recv(heard, 4096)

    def runs(self, name: str) -> bool:
        """Whether the program of that name runs."""
        return name in self._running

    async def end(self, name: str, seconds: float = TERMINATE_SECONDS) -> int | None:
        """Ask a program to end, kill it when it does not in time (at once for 0 s); its exit code, None when it does not run."""
        running = self._running.pop(name, None)
        if running is None:
            return None
        if seconds:
            self._signal(running, signal.SIGTERM)
        try:
            return await asyncio.wait_for(asyncio.shield(running.exited), seconds)
        except TimeoutError:
            self._signal(running, signal.SIGKILL)
            return await running.exited

    def _signal(self, running: Running, number: signal.Signals) -> None:
        inner = state.children(running.pid) if running.component.holds_namespace else []
        for pid in inner or [running.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _ended(self, name: str, code: int) -> None:
        running = self._running.get(name)
        if running is None or self._failure.done():
            return
        if running.component.may_end:
            del self._running[name]
        else:
            self._failure.set_exception(ComponentEnded(name, code))


async def _first(*futures: asyncio.Future[Any]) -> None:
    """Wait until one of them is done."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
