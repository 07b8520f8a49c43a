"""Processes that tests start: none outlives its test, nor a test run that is killed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Before a command: the child asks the kernel for a signal when its parent ends."""


@contextlib.asynccontextmanager
async def running(*command: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process for the length of a `with` block, killed at its end unless it has ended. `options`: those of asyncio."""
    process = await asyncio.create_subprocess_exec(*WITH_US, *command, **options)
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def run(*command: str, stdin: str | None = None, limit: float, **options: Any) -> tuple[int, str]:
    """A process, run to its end within `limit` seconds: its exit code, and its output with errors."""
    streams = {"stdin": asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL, "stdout": asyncio.subprocess.PIPE}
    async with running(*command, stderr=asyncio.subprocess.STDOUT, **streams, **options) as process, asyncio.timeout(limit):
        output, _ = await process.communicate(stdin.encode() if stdin else None)
    assert process.returncode is not None
    return process.returncode, output.decode()
