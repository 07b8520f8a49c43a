"""One command: a process of its own group, without a shell, its output in lines, its time limited."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nestor.runner.output import Output

KILL_AFTER_SECONDS = 5.0


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `exit_code` is None when it did not end by itself."""

    exit_code: int | None
    message: str
    """Last lines of the output, or why there was none."""

    @property
    def is_success(self) -> bool:
        """Exit code 0."""
        return self.exit_code == 0


async def run_command(
    command: list[str], *, folder: Path, environment: dict[str, str], limit: float, show: Callable[[str], None],
) -> Outcome:
    """Run `command` in `folder`; after `limit` seconds its whole process group is ended. Standard error goes with the output.

    A cancelled call ends the group as well: nothing outlives it.
    """
    output = Output(show)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=environment, start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return Outcome(None, f"{command[0]} cannot be started: {error}")
    try:
        async with asyncio.timeout(limit):
            await _read(process, output)
            code = await process.wait()
    except TimeoutError:
        await _end_group(process)
        output.close()
        said = output.tail()
        return Outcome(None, f"no end within {limit:g} s, stopped" + (f"; it said last:\n{said}" if said else ""))
    except BaseException:
        await asyncio.shield(_end_group(process))
        raise
    return Outcome(code, output.tail())


async def _read(process: asyncio.subprocess.Process, output: Output) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(65536):
        output.feed(chunk)
    output.close()


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Ask the group to end, then make it. Children that closed our pipe and outlived the first process are hit too."""
    _signal(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILL_AFTER_SECONDS):
            await process.wait()
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
