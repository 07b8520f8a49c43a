"""How a process writes its log: one line for each entry, whatever others have put into the texts that it quotes."""

from __future__ import annotations

import logging
import sys

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


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


def set_up(level: str = "INFO", formatter: logging.Formatter | None = None) -> None:
    """Log to standard error, as text unless there is another formatter."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter or PlainFormatter())
    logging.basicConfig(level=level, handlers=[handler])
