"""Starting and reaping processes as process 1 of a pid namespace.

Process 1 inherits every orphan (containerd's shims leave themselves to it), so it must reap children that it never started.
Python's own waiting for children would compete with that; here one place reaps all, and hands out the exit codes.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path


class Children:
    """The processes we started, each with a future of its exit code (negative: the signal that ended it)."""

    def __init__(self) -> None:
        self._exits: dict[int, asyncio.Future[int]] = {}

    def watch(self) -> None:
        """Start reaping; call once, inside the running event loop, before the first `spawn`."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)

    def spawn(
        self, argv: Sequence[str], environment: Mapping[str, str], log: Path, stdin: int | None = None
    ) -> tuple[int, asyncio.Future[int]]:
        """Start a program, its output appended to `log`, its input from a file descriptor of ours or empty; its pid, and the
        future of its exit code."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0) if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        # An own session: a Ctrl-C meant for `up` must not reach the cluster.
        pid = os.posix_spawnp(argv[0], list(argv), environment, file_actions=actions, setsid=True)
        # Nothing can have been reaped in between: the handler runs in this same event loop.
        self._exits[pid] = exited
        return pid, exited

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            exited = self._exits.pop(pid, None)
            if exited is not None and not exited.cancelled():
                exited.set_result(os.waitstatus_to_exitcode(status))
