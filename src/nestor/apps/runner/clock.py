"""Time, as the runner sees it; tests bring their own."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from nestor.api.times import timestamp


class Clock(Protocol):
    """Wall-clock times for the record, seconds for waits."""

    def now(self) -> str:
        """RFC 3339, UTC, whole seconds."""

    def seconds(self) -> float:
        """Seconds since some fixed moment."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's."""

    def now(self) -> str:
        """The current time as Kubernetes writes it."""
        return timestamp()

    def seconds(self) -> float:
        """Monotonic."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait, leaving the loop to others."""
        await asyncio.sleep(seconds)
