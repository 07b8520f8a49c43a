"""One server starts the processes of all tests of a run: whatever becomes of one of them, it goes on."""

import asyncio
import os
import signal
from pathlib import Path

from tests import children
from tests.integration import warm
from tests.waiting import eventually

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def find_children(parent: int) -> set[int]:
    """Processes that a process has started and that are still there, ended ones included."""
    return {int(word) for file in Path(f"/proc/{parent}/task").glob("*/children") for word in file.read_text().split()}


def is_in_state(pid: int, states: str) -> bool:
    """Whether a process is in one of these states, by the letters of /proc."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in states


async def test_a_launcher_that_is_killed_as_its_process_ends_is_no_harm(tmp_path: Path) -> None:
    """The server hears of both at once. It is held still meanwhile."""
    os.mkfifo(tmp_path / "plan")
    before = find_children(os.getpid())
    with warm.serving() as command:
        (server,) = find_children(os.getpid()) - before
        async with children.running(*command, "runner", f"--plan={tmp_path / 'plan'}", env=ENVIRONMENT) as launcher:

            async def find_process() -> int | None:
                return next(iter(find_children(server)), None)

            process = await eventually(find_process)

            async def is_stopped() -> bool:
                return is_in_state(server, "T")

            async def has_ended() -> bool:
                return is_in_state(process, "Z")

            os.kill(server, signal.SIGSTOP)
            await eventually(is_stopped)
            os.kill(process, signal.SIGKILL)
            await eventually(has_ended)
            launcher.kill()
            await launcher.wait()
            os.kill(server, signal.SIGCONT)
        streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
        async with children.running(*command, "--version", env=ENVIRONMENT, **streams) as process_after:
            output, _ = await process_after.communicate()
    assert output.startswith(b"nestor "), output.decode()
