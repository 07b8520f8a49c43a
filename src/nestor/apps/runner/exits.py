"""Exit codes in words."""

from __future__ import annotations

import signal

KILLED = 128 + signal.SIGKILL

_WORDS = {
    126: "could not execute a program (exit code 126)",
    127: "could not find a program (exit code 127)",
    KILLED: "was killed (exit code 137): out of memory?",
    128 + signal.SIGXFSZ: "wrote a file that is too large (exit code 153)",
}


def normalize(returncode: int) -> int:
    """As in a shell: 128 + the signal for a process that was ended by a signal."""
    return 128 - returncode if returncode < 0 else returncode


def describe(code: int) -> str:
    """How a program ended, as the end of a sentence that starts with its name."""
    if code in _WORDS:
        return _WORDS[code]
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"exited with code {code}"
    return f"was terminated by {name} (exit code {code})"
