"""What is executed: one attempt of one step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Step

Show = Callable[[str], None]


@dataclass(frozen=True)
class Attempt:
    """`number` counts from 1; `show` takes the lines of its output."""

    step: Step
    number: int
    show: Show


@dataclass(frozen=True)
class Again:
    """A command that is run in place of the one that failed, in the same attempt; `note` tells why."""

    command: list[str]
    note: str


Execute = Callable[[Attempt], Awaitable[Outcome]]
