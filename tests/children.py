"""Processes that tests start: none outlives its test, nor a test run that is killed."""

from __future__ import annotations

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
