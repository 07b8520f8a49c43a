"""What has happened, and requests that users repeat until they are answered."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nestor.kube import ApiError

T = TypeVar("T")


class Story:
    """Tells what happens as it happens; `tail` has the last two minutes of it."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._lines: deque[tuple[float, str]] = deque(maxlen=1000)

    def tell(self, what: str) -> None:
        now = time.monotonic() - self._begin
        self._lines.append((now, what))
        print(f"{now:7.1f} s  {what}", flush=True)

    def tail(self, seconds: float) -> str:
        """What was told in the last seconds."""
        since = time.monotonic() - self._begin - seconds
        return "\n".join(f"{when:7.1f} s  {what}" for when, what in self._lines if when > since)


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """The first answer to a request that is none of a server in trouble."""
    while True:
        try:
            return await call()
        except (ApiError, OSError) as error:
            if isinstance(error, ApiError) and 400 <= error.status < 500 and error.status != 429:
                raise
        await asyncio.sleep(1)
