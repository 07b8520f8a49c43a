"""A command's output: whole lines as they come, bounded in length and amount, the last ones kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

LINE_LIMIT = 2000
SHOWN_LIMIT = 1_000_000
TAIL_LINES = 20
TAIL_LIMIT = 4096

_CONTROL = {code: None for code in [*range(32), 127] if chr(code) != "\t"}


class Output:
    """Takes bytes, hands each line to `show`, remembers the tail.

    A line longer than `LINE_LIMIT` is cut, and after `SHOWN_LIMIT` characters the rest is not shown, with a note: a command
    gone wild must fill neither the node's disk nor our memory. The tail is kept to the end.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._pending = b""
        self._is_cut = False
        self._shown = 0
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)

    def feed(self, chunk: bytes) -> None:
        """Take what was read."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._append(line)
            self._end_line()
        self._append(rest)

    def close(self) -> None:
        """Take what was read as complete."""
        if self._pending:
            self._end_line()

    def tail(self) -> str:
        """The last lines, at most `TAIL_LIMIT` bytes."""
        text = "\n".join(self._tail).encode()
        return text[-TAIL_LIMIT:].decode(errors="ignore")

    def _append(self, part: bytes) -> None:
        room = LINE_LIMIT - len(self._pending)
        self._is_cut = self._is_cut or len(part) > room
        self._pending += part[:room]

    def _end_line(self) -> None:
        text = self._pending.decode(errors="replace").translate(_CONTROL) + (" …" if self._is_cut else "")
        self._pending, self._is_cut = b"", False
        if text.strip():
            self._tail.append(text)
        before = self._shown
        self._shown += len(text) + 1
        if self._shown <= SHOWN_LIMIT:
            self._show(text)
        elif before <= SHOWN_LIMIT:
            self._show(f"… more than {SHOWN_LIMIT // 1_000_000} MB of output, the rest is not shown")
            self._shown = SHOWN_LIMIT + 1
