"""Whether the backend answers. Everything that calls it tells the result here."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nestor.api import conditions
from nestor.pods.providers.base import Backend
from nestor.pods.providers.errors import ProviderError, Rejected, Unauthorized, Unreachable

log = logging.getLogger(__name__)

GRACE_SECONDS = 60.0
"""How long a backend may leave everything unanswered before its nodes say so: a glitch moves no pods."""
CHECK_SECONDS = 10.0
_MARGIN_SECONDS = 5.0
"""What a check may take beyond the backend's own limit, which says better what is wrong."""


class Health:
    """The state of the backend. `on_change` is called when it begins or stops to answer, and when its first call has failed.

    `patience`: seconds that a call may take. A slow backend is not one that is gone.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, patience: float = 0) -> None:
        self._clock = clock
        self.patience = patience
        self._answered: float | None = None
        self._told: bool | None = None
        self._problem: tuple[conditions.Reason, str] | None = None
        self._handlers: list[Callable[[], None]] = []

    def on_change(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever the backend begins or stops to answer, and when its first call has failed."""
        self._handlers.append(handler)

    @property
    def is_answering(self) -> bool:
        """Whether it has answered lately. False until its first answer."""
        grace = max(GRACE_SECONDS, self.patience + 2 * CHECK_SECONDS)
        return self._answered is not None and self._clock() - self._answered < grace

    @property
    def is_known(self) -> bool:
        """Whether it has answered, or failed to, since this process began."""
        return self._answered is not None or self._problem is not None

    @property
    def problem(self) -> tuple[conditions.Reason, str]:
        """Why it does not answer: a condition's reason and message."""
        return self._problem or (conditions.UNREACHABLE, "the backend has not answered yet")

    def note_answer(self) -> None:
        self._answered, self._problem = self._clock(), None
        self.look()

    def note_failure(self, error: Exception) -> None:
        """It has not, and this was the error. What it was asked for may be at fault as well: that counts as an answer."""
        if isinstance(error, ProviderError) and not isinstance(error, (Unreachable, Unauthorized)):
            self.note_answer()
            return
        reason = conditions.UNAUTHORIZED if isinstance(error, Unauthorized) else conditions.UNREACHABLE
        self._problem = reason, describe(error)
        self.look()

    @contextmanager
    def noting(self, *unasked: type[Exception]) -> Iterator[None]:
        """Note how the call in the `with` block ends. `unasked`: errors that it may raise without having asked the backend."""
        try:
            yield
        except unasked:
            raise
        except Exception as error:
            # An error of its own says nothing: one that is ill answers everything so. The next check tells.
            if not (isinstance(error, ProviderError) and type(error) in (ProviderError, Rejected) and error.status >= 500):
                self.note_failure(error)
            raise
        self.note_answer()

    def look(self) -> None:
        """Tell everyone if it is another state than before, or the first one that is known."""
        if self.is_known and self.is_answering != self._told:
            self._told = self.is_answering
            if self.is_answering:
                log.info("the backend answers")
            else:
                log.warning("the backend does not answer: %s", self.problem[1])
            for handler in self._handlers:
                handler()


async def watch(backend: Backend, health: Health) -> None:
    while True:
        try:
            async with asyncio.timeout(health.patience + _MARGIN_SECONDS):
                await backend.check()
            health.note_answer()
        except Exception as error:
            health.note_failure(error)
        await asyncio.sleep(CHECK_SECONDS)


def describe(error: Exception) -> str:
    if isinstance(error, ProviderError):
        return error.message
    return str(error) or type(error).__name__
