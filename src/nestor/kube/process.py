"""The life of a long-running process, and its log: a line for each entry, whatever others have put into texts that it quotes."""

import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


async def run_until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run `work` until it ends, SIGTERM or SIGINT comes, or this is cancelled; returns after its end, with its result; None if it
    was ended. Raises what it raises. A second signal does not disturb its end.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    task = asyncio.ensure_future(work)
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()  # if it has ended, this does nothing
        waiting.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)
    return None if task.cancelled() else task.result()


def spawn(group: asyncio.TaskGroup, part: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    """Run a part that should never end in a group, which ends with a `RuntimeError` if it does."""

    async def must_run() -> None:
        await part
        raise RuntimeError(f"{name} stopped")

    task = group.create_task(must_run(), name=name)
    task.add_done_callback(lambda _: part.close())  # of a task that was cancelled before it began
    return task


def find_first(error: BaseException) -> BaseException:
    """The first error of a group, or of groups in it; another error is returned as it is."""
    return find_first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


class PlainFormatter(logging.Formatter):
    """Text in which nothing can pass for an entry, or command a terminal: what is not printable is escaped."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Escaped, since it may quote servers and users."""
        record.message = escape(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802 - the library's name
        """Indented: an exception's own text may have several lines."""
        text = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join(f"  {escape(line)}" for line in text.split("\n"))


def escape(text: str) -> str:
    """`text` in one line that has printable characters only."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def set_up_log(level: str = "INFO", formatter: logging.Formatter | None = None) -> None:
    """Log to standard error, as text unless there is another formatter."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter or PlainFormatter())
    logging.basicConfig(level=level, handlers=[handler])
