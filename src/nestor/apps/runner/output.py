"""A command's output: whole lines as they come, bounded in length and amount, the last ones kept."""

import re
from collections import deque
from collections.abc import Callable

LINE_LIMIT = 2000
SHOWN_LIMIT = 1_000_000
TAIL_LINES = 20
TAIL_LIMIT = 4096

_CONTROL = {code: None for code in [*range(32), 127] if chr(code) != "\t"}
_COLORS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Output:
    """Takes bytes, hands each line to `show`, remembers the tail.

    A line longer than `LINE_LIMIT` is cut, of one that overwrites itself (progress bars) the last state is kept, and after
    `SHOWN_LIMIT` characters the rest is not shown, with a note: a command gone wild must fill neither the node's disk nor our
    memory, and cost little of our time. The tail is kept to the end.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._pending = b""
        self._is_cut = False
        self._is_returned = False
        """Whether the last character was a carriage return: what follows overwrites the line."""
        self._shown = 0
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._hidden: bytes | None = None
        """The last of what came after `SHOWN_LIMIT`; None before."""

    def feed(self, chunk: bytes) -> None:
        if self._hidden is not None:
            self._hidden = (self._hidden + chunk)[-2 * TAIL_LIMIT :]
            return
        *lines, rest = chunk.split(b"\n")
        for index, line in enumerate(lines):
            self._append(line)
            self._end_line()
            if self._hidden is not None:
                self.feed(b"\n".join([*lines[index + 1 :], rest]))
                return
        self._append(rest)

    def close(self) -> None:
        """Take what was read as complete."""
        if self._pending:
            self._end_line()

    def tail(self) -> str:
        """The last lines, at most `TAIL_LIMIT` bytes."""
        hidden = (_clean(line) for line in (self._hidden or b"").split(b"\n"))
        lines = [*self._tail, *(line for line in hidden if line.strip())][-TAIL_LINES:]
        return "\n".join(lines).encode()[-TAIL_LIMIT:].decode(errors="ignore")

    def _append(self, part: bytes) -> None:
        if not part:
            return
        text = part.rstrip(b"\r")
        _, is_overwritten, last = text.rpartition(b"\r")
        if is_overwritten or (text and self._is_returned):
            self._pending, self._is_cut = b"", False
        self._is_returned = len(text) < len(part)
        room = LINE_LIMIT - len(self._pending)
        self._is_cut = self._is_cut or len(last) > room
        self._pending += last[:room]

    def _end_line(self) -> None:
        text = _clean(self._pending) + (" …" if self._is_cut else "")
        self._pending, self._is_cut, self._is_returned = b"", False, False
        if text.strip():
            self._tail.append(text)
        self._shown += len(text) + 1
        if self._shown <= SHOWN_LIMIT:
            self._show(text)
        else:
            self._show(f"… more than {SHOWN_LIMIT // 1_000_000} MB of output, the rest is not shown")
            self._hidden = b""


def _clean(line: bytes) -> str:
    return _COLORS.sub("", line.decode(errors="replace")).translate(_CONTROL)
