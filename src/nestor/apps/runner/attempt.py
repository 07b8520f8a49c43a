"""What the runner's parts speak of: an attempt of a step, its outcome, what goes wrong in it, and time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nestor.api.times import timestamp
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Step

Show = Callable[[str], None]


@dataclass(frozen=True)
class Attempt:
    """`number` counts from 1; `show` takes the lines of its output."""

    step: Step
    number: int
    show: Show


Execute = Callable[[Attempt], Awaitable[Outcome]]


class StepError(Exception):
    """A retry would fail in the same way, because the image, the script and the rules do not change. The step fails at once."""


class AttemptError(Exception):
    """A retry may succeed, for example when a server did not answer. Counts as a failed attempt."""


class Clock:
    """The machine's time; tests have one of their own."""

    def now(self) -> str:
        """For the record, as Kubernetes writes it."""
        return timestamp()

    def seconds(self) -> float:
        """For waits, since some fixed moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
