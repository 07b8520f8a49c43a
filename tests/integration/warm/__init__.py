"""`nestor` as a process, without the half second in which it imports its libraries.

A server imports them once and forks for each start: the process has arguments, environment, folder and files of its own, as
any has. What the tests start is a launcher that stands for it: it passes signals on and ends as the process ends; who kills
the launcher kills the process a moment later. Whole starts, from the interpreter on, are in the tests of the operator's and
the syncer's processes, of killed runners, and in all of e2e.
"""

import contextlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.children import WITH_US

ROOT = Path(__file__).parents[3]


@contextlib.contextmanager
def serving() -> Iterator[list[str]]:
    """The command that stands for `nestor`, for the length of a `with` block."""
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(tempfile.TemporaryDirectory(prefix="nestor-warm-")) + "/door"
        door = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        door.bind(address)
        door.listen()
        command = [*WITH_US, sys.executable, "-m", "tests.integration.warm.server", str(door.fileno())]
        server = subprocess.Popen(command, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}/src:{ROOT}"}, pass_fds=[door.fileno()])
        door.close()  # so that nobody waits for a server that has failed
        try:
            yield [sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py")), address]
        finally:
            server.kill()
            server.wait()
