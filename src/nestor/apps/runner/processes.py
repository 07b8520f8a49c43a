"""All processes that an attempt started, whatever became of their parents: found in /proc, and ended together.

The runner is process 1 of its pod, or a subreaper: a process whose parent ended becomes its child, so a daemon that left its
group and its session is still found below the runner.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PAUSE_SECONDS = 0.05
KILL_LIMIT_SECONDS = 10.0
LAST_RESORT_SECONDS = 1.0
NICENESS = 10
"""The runner must get its turn beside a fork bomb, with which it shares the pod's processor."""
OUT_OF_MEMORY_SCORE = 1000
"""When memory is short the kernel ends a step's processes, not the runner."""


@dataclass(frozen=True)
class Process:
    """One line of /proc."""

    pid: int
    parent: int
    group: int
    is_alive: bool
    started: int
    """In clock ticks since boot; tells two processes with the same id apart."""
    name: str


def become_subreaper(is_on: bool = True) -> None:
    """Take over the orphans among our descendants."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(is_on), 0, 0, 0)


def hide() -> None:
    """Keep our children, which run as the same user, from our open files (the pod's log among them) and our memory."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_with_parent() -> Callable[[], None]:
    """What a new process calls before it runs its program: it is killed when we are, even alone and without notice."""
    parent, prctl = os.getpid(), ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # too late: nobody would send that signal
            os._exit(1)

    return prepare


def read_all() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            # A process that ends meanwhile.
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", errors="replace") as file:
                yield _parse(int(name), file.read())


def _parse(pid: int, line: str) -> Process:
    name, _, rest = line.partition("(")[2].rpartition(")")
    fields = rest.split()
    # A process whose first thread alone ended looks like one that ended.
    is_alive = fields[0] not in "ZX" or int(fields[17]) > 1
    return Process(pid, int(fields[1]), int(fields[2]), is_alive, int(fields[19]), name)


class Family:
    """What descends from us and was not there when this was made."""

    def __init__(self) -> None:
        own = os.getpid()
        self._others = {(process.pid, process.started) for process in read_all() if process.parent == own}
        self._settled: set[tuple[int, int]] = set()
        self.first: int | None = None
        """The attempt's first process: somebody else waits for its exit code, so it is not reaped here."""
        self._is_gone = False
        """Whether the last look found nothing, not even one that had just ended: that one may have had a child since."""

    def find(self) -> list[Process]:
        """Those that live. Orphans that ended are reaped."""
        children: dict[int, list[Process]] = {}
        for process in read_all():
            children.setdefault(process.parent, []).append(process)
        found: list[Process] = []
        ahead = [process for process in children.get(os.getpid(), ()) if (process.pid, process.started) not in self._others]
        ended = [process for process in ahead if not process.is_alive and process.pid != self.first]
        for process in ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        while ahead:
            process = ahead.pop()
            ahead += children.get(process.pid, ())
            if process.is_alive:
                found.append(process)
        self._is_gone = not found and not ended
        return found

    def settle(self, processes: list[Process]) -> None:
        """Let them stand back behind the runner, for the processor and for memory."""
        niceness = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        for process in processes:
            if (process.pid, process.started) not in self._settled:
                self._settled.add((process.pid, process.started))
                with contextlib.suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
                with contextlib.suppress(OSError), open(f"/proc/{process.pid}/oom_score_adj", "w") as file:
                    file.write(str(OUT_OF_MEMORY_SCORE))

    async def end(self, grace: float, patience: float = 0) -> list[Process]:
        """End all: asked after `patience` seconds, made to after `grace` more. Returns those that had to be asked.

        Those that even force does not end are left.
        """
        lived = left = await self._wait(self.find(), patience)
        if left and grace:
            _signal(left, signal.SIGTERM)
            _signal(left, signal.SIGCONT)
            left = await self._wait(left, grace)
        start = time.monotonic()
        while not self._is_gone and time.monotonic() - start < KILL_LIMIT_SECONDS:
            _signal(left, signal.SIGKILL)
            # Faster than any pass over /proc is a process that does nothing but start its successor and end.
            if os.getpid() == 1 and time.monotonic() - start > LAST_RESORT_SECONDS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            await asyncio.sleep(0.005)
            left = self.find()
        return lived

    async def _wait(self, left: list[Process], limit: float) -> list[Process]:
        """Those that still live when all have ended, or after `limit` seconds."""
        deadline = time.monotonic() + limit
        while not self._is_gone and time.monotonic() < deadline:
            await asyncio.sleep(PAUSE_SECONDS)
            left = self.find()
        return left


def _signal(processes: list[Process], number: signal.Signals) -> None:
    """Groups first: a group gets its signal at once, with the processes that it is just starting."""
    for group in {process.group for process in processes} - {os.getpgrp(), 0}:
        with contextlib.suppress(OSError):
            os.killpg(group, number)
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process.pid, number)
