"""What long work tells the person who waits for it: one line per stage, with the time it took.

On a terminal the running stages are shown live, with a spinner; elsewhere (CI, a log file) only whole lines are written, and
a long stage says now and then that it is still running, so that a quiet log never looks like a hang.
"""

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
LIVE_SECONDS = 0.1
STILL_RUNNING_SECONDS = 30.0
KEPT_SECONDS = 1.0
"""Nobody waits for what takes less."""


@dataclass(eq=False)
class Stage:
    """One piece of work that is under way."""

    title: str
    detail: str = ""
    """What is happening now; set it freely. The last value stays on the finished line ("from the cache", "12 MB")."""
    clock: Callable[[], float] = time.monotonic
    last: float | None = None
    """How long it took the last time, in seconds."""
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the stage began."""
        return self.clock() - self.started

    def line(self, *, ended: bool = False) -> str:
        """Title, detail and elapsed time; until it has ended, also how long it took the last time."""
        before = f", last time {self.last:.0f} s" if self.last is not None and not ended else ""
        return f"{self.title}{f': {self.detail}' if self.detail else ''} ({self.elapsed:.1f} s{before})"


class Progress(Protocol):
    """Where work reports to."""

    def stage(self, title: str) -> AbstractContextManager[Stage]:
        """Report the body of the `with` as one stage; stages may run side by side and in threads."""

    def note(self, text: str) -> None:
        """Write one line that belongs to no stage."""


class Silent:
    """Reports nothing: for tests, and for callers that have no one to tell."""

    @contextlib.contextmanager
    def stage(self, title: str) -> Iterator[Stage]:
        """Run the body, tell no one."""
        yield Stage(title)

    def note(self, text: str) -> None:
        """Drop the line."""


class Console:
    """Reports to a text stream, live when the stream is a terminal. `times`: the file that keeps how long each stage took."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic, times: Path | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._times = times
        self._live = self._stream.isatty()
        self._running: list[Stage] = []
        self._lock = threading.Lock()
        self._ticker: threading.Thread | None = None
        self._frame = 0

    @contextlib.contextmanager
    def stage(self, title: str) -> Iterator[Stage]:
        """Show the body of the `with` while it runs; leave one line behind, marked by how it ended."""
        stage = Stage(title, clock=self._clock, last=_read(self._times).get(title))
        self._begin(stage)
        try:
            yield stage
        except BaseException:
            self._end(stage, "✗")
            raise
        self._end(stage, "✓")
        self._keep(stage)

    def note(self, text: str) -> None:
        """Write one line above the live one."""
        with self._lock:
            self._write_line(text)

    def _begin(self, stage: Stage) -> None:
        with self._lock:
            self._running.append(stage)
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
                self._ticker.start()

    def _end(self, stage: Stage, mark: str) -> None:
        with self._lock:
            self._running.remove(stage)
            self._write_line(f"{mark} {stage.line(ended=True)}")

    def _keep(self, stage: Stage) -> None:
        if self._times is None or stage.elapsed < KEPT_SECONDS:
            return
        with self._lock:
            self._times.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._times.with_name(f".{self._times.name}.{os.getpid()}")
            fresh.write_text(json.dumps(_read(self._times) | {stage.title: round(stage.elapsed, 1)}, indent=1))
            fresh.replace(self._times)

    def _tick(self) -> None:
        """Redraw (terminal) or remind (plain) until no stage is left; the next stage starts a new ticker."""
        pause = LIVE_SECONDS if self._live else STILL_RUNNING_SECONDS
        while True:
            time.sleep(pause)
            with self._lock:
                if not self._running:
                    self._ticker = None
                    return
                if self._live:
                    self._draw()
                else:
                    self._write_line("… " + ", ".join(stage.line() for stage in self._running))

    def _draw(self) -> None:
        self._frame = (self._frame + 1) % len(SPINNER)
        text = ", ".join(stage.line() for stage in self._running)
        self._stream.write(f"\r\x1b[K{SPINNER[self._frame]} {text[: _columns() - 3]}")
        self._stream.flush()

    def _write_line(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}\n" if self._live else f"{text}\n")
        if self._live and self._running:
            self._draw()
        self._stream.flush()


def _read(times: Path | None) -> dict[str, float]:
    try:
        found: dict[str, float] = json.loads(times.read_text()) if times else {}
    except (OSError, ValueError):
        return {}
    return found


def _columns() -> int:
    """Width of the terminal; a longer line would wrap and could not be redrawn."""
    return shutil.get_terminal_size().columns
