"""What a person sees of long work."""

from __future__ import annotations

import io
import time

import pytest

from devcluster import progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_stage_leaves_one_line_with_its_time() -> None:
    stream = io.StringIO()
    with progress.Console(stream).stage("Build it") as stage:
        stage.detail = "from the cache"
    assert stream.getvalue() == "✓ Build it: from the cache (0.0 s)\n"


def test_a_failed_stage_is_marked_and_the_error_goes_on() -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError, match="broken"), progress.Console(stream).stage("Build it"):
        raise RuntimeError("broken")
    assert stream.getvalue() == "✗ Build it (0.0 s)\n"


def test_a_long_stage_in_a_log_says_that_it_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "STILL_RUNNING_SECONDS", 0.02)
    stream = io.StringIO()
    with progress.Console(stream).stage("Build it"):
        time.sleep(0.1)
    assert stream.getvalue().startswith("… Build it (0.0 s)\n")


def test_a_terminal_shows_running_stages_live_and_then_their_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.01)
    stream = Terminal()
    console = progress.Console(stream)
    with console.stage("One"), console.stage("Two"):
        console.note("a note")
        time.sleep(0.1)
    text = stream.getvalue()
    assert "One (0.0 s), Two (0.0 s)" in text
    assert "\r\x1b[Ka note\n" in text
    assert text.endswith("\r\x1b[K✓ One (0.1 s)\n")


def test_silence_is_silent() -> None:
    with progress.Silent().stage("x") as stage:
        stage.detail = "y"
    progress.Silent().note("z")
