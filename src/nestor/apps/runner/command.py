"""One command: without a shell, its output in lines, its time and what it uses limited, and nothing of it left afterwards."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nestor.apps.runner import guard
from nestor.apps.runner.output import Output
from nestor.apps.runner.processes import Family, Process, end_with_parent

GRACE_SECONDS = 5.0
"""Between SIGTERM and SIGKILL for a command that took too long."""
LEFTOVER_GRACE_SECONDS = 2.0
"""The same for background processes that a command left, and when the runner itself is stopped."""
PATIENCE_SECONDS = 0.3
"""For processes that end by themselves right after their parent, like the last part of a pipe."""
PIPE_SECONDS = 2.0
SECONDS_LEFT = 1.0
"""The least time that a command gets, however long its preparation took."""
SHOWN_NAMES = 5
KILLED = 128 + signal.SIGKILL
_EXITS = {
    126: "could not execute a program (exit code 126)",
    127: "could not find a program (exit code 127)",
    KILLED: "was killed (exit code 137): out of memory?",
    128 + signal.SIGXFSZ: "wrote a file that is too large (exit code 153)",
}


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `exit_code` is None when it did not end by itself."""

    exit_code: int | None
    message: str
    """Last lines of the output, or why there was none."""
    sha256: str | None = None
    """Of what was downloaded for it."""

    @property
    def is_success(self) -> bool:
        return self.exit_code == 0


async def run_command(
    command: list[str],
    *,
    folder: Path,
    environment: dict[str, str],
    limit: float,
    show: Callable[[str], None],
    limits: guard.Limits = guard.Limits(),  # noqa: B008 - frozen
    spent: float = 0,
) -> Outcome:
    """Run `command` in `folder` for at most `limit` seconds. Standard error goes with the output, standard input is empty.

    `spent` of them are gone already, on preparing it; it gets `SECONDS_LEFT` at least.

    However it ends, and if this call is cancelled as well, all processes that descend from it are ended, those in other sessions
    included: what a step leaves in the background does not live on into the next one. The command also ends with this process.
    """
    output, family = Output(show), Family()
    try:
        transport, process = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Process(output),
            *command,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_parent(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except (OSError, ValueError) as error:
        return Outcome(None, f"{command[0]} cannot be started: {error}")
    family.first = transport.get_pid()
    with contextlib.closing(transport):
        try:
            reason = await _await_end(process, family, limit, spent, limits)
        except BaseException:
            await asyncio.shield(_clean_up(process, family, LEFTOVER_GRACE_SECONDS))
            raise
        graces = (LEFTOVER_GRACE_SECONDS, PATIENCE_SECONDS) if reason is None else (GRACE_SECONDS, 0)
        lived = await _clean_up(process, family, *graces)
    output.close()
    said = output.tail()
    if reason is not None:
        return Outcome(None, f"{reason}, stopped" + (f"; its last output:\n{said}" if said else ""))
    if lived:
        show(_describe_leftovers(lived))
    code = transport.get_returncode() or 0
    return Outcome(128 - code if code < 0 else code, said)  # as shells have it: 128 + the signal that ended it


class _Process(asyncio.SubprocessProtocol):
    """Hands on what a process says, and knows when it has ended, even if others hold its output open."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.ended, self.is_read = asyncio.Event(), asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output.feed(data)

    def process_exited(self) -> None:
        self.ended.set()

    def connection_lost(self, _: Exception | None) -> None:
        """All output is read."""
        self.is_read.set()


async def _await_end(process: _Process, family: Family, limit: float, spent: float, limits: guard.Limits) -> str | None:
    """Why the command must not continue; None if it ended by itself."""
    ended = asyncio.create_task(process.ended.wait())
    watch = asyncio.create_task(guard.watch(family, limits))
    try:
        left = max(min(limit, SECONDS_LEFT), limit - spent)
        await asyncio.wait({ended, watch}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            return None
        return watch.result() if watch.done() else f"timed out after {limit:g} s"
    finally:
        for task in (ended, watch):
            task.cancel()
        await asyncio.gather(ended, watch, return_exceptions=True)


async def _clean_up(process: _Process, family: Family, grace: float, patience: float = 0) -> list[Process]:
    """End the remaining processes and read their output; returns those that outlived the first process."""
    lived = await family.end(grace, patience)
    with contextlib.suppress(TimeoutError):  # a process that no signal ends holds the output open
        async with asyncio.timeout(PIPE_SECONDS):
            await process.is_read.wait()
    return lived


def _describe_leftovers(lived: list[Process]) -> str:
    names = sorted({process.name for process in lived})
    shown = ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")
    count = "1 process" if len(lived) == 1 else f"{len(lived)} processes"
    return f"ended {count} that the step had left in the background: {shown}"


def describe_exit(code: int) -> str:
    """How a program ended, as the end of a sentence that starts with its name."""
    if code in _EXITS:
        return _EXITS[code]
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"exited with code {code}"
    return f"was terminated by {name} (exit code {code})"
