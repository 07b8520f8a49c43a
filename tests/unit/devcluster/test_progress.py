"""What a person sees of long work."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest

from devcluster import progress

WAIT_SECONDS = 30.0
"""For what another thread does at once."""


class Stream(io.StringIO):
    """A log file whose readers can wait for a text."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def write(self, text: str) -> int:
        with self._written:
            count = super().write(text)
            self._written.notify_all()
            return count

    def wait_for(self, text: str) -> None:
        """Return as soon as the text was written."""
        with self._written:
            assert self._written.wait_for(lambda: text in self.getvalue(), WAIT_SECONDS), self.getvalue()


class Terminal(Stream):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_stage_leaves_one_line_with_its_time(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.Console(stream, clock).stage("Build it") as stage:
        stage.detail = "from the cache"
        clock.now += 1.25
    assert stream.getvalue() == "✓ Build it: from the cache (1.2 s)\n"


def test_a_failed_stage_is_marked_and_the_error_goes_on(clock: Clock) -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError, match="broken"), progress.Console(stream, clock).stage("Build it"):
        raise RuntimeError("broken")
    assert stream.getvalue() == "✗ Build it (0.0 s)\n"


def test_a_terminal_shows_running_stages_live_and_then_their_last_line(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.001)
    stream = Terminal()
    console = progress.Console(stream, clock)
    with console.stage("One"), console.stage("Two"):
        console.note("a note")
        stream.wait_for("One (0.0 s), Two (0.0 s)")
        clock.now += 0.1
        stream.wait_for("One (0.1 s), Two (0.1 s)")
    text = stream.getvalue()
    assert "\r\x1b[Ka note\n" in text
    assert text.endswith("\r\x1b[K✓ One (0.1 s)\n")


def test_a_running_stage_says_how_long_it_took_the_last_time(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "STILL_RUNNING_SECONDS", 0.001)
    times = tmp_path / "cache" / "times.json"
    for title, seconds in (("Build it", 12.0), ("Look", 0.5)):
        with progress.Console(io.StringIO(), clock, times).stage(title):
            clock.now += seconds
    with pytest.raises(RuntimeError), progress.Console(io.StringIO(), clock, times).stage("Build it"):
        raise RuntimeError
    stream = Stream()
    console = progress.Console(stream, clock, times)
    with console.stage("Build it"), console.stage("Look"):
        stream.wait_for("… Build it (0.0 s, last time 12 s), Look (0.0 s)\n")
    assert stream.getvalue().endswith("✓ Build it (0.0 s)\n")
