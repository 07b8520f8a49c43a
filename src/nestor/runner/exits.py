"""Exit codes in words."""

from __future__ import annotations

import signal

KILLED = 128 + signal.SIGKILL

_WORDS = {
    126: "found a program that cannot be executed (exit code 126)",
    127: "did not find a program (exit code 127)",
    KILLED: "was killed (exit code 137): out of memory?",
    128 + signal.SIGXFSZ: "wrote a file that is too large (exit code 153)",
}


def normalize(returncode: int) -> int:
    """As a shell tells it: a process that a signal ended has code 128 + signal."""
    return 128 - returncode if returncode < 0 else returncode


def describe(code: int) -> str:
    """The end of a sentence that begins with what was run."""
    if code in _WORDS:
        return _WORDS[code]
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"exited {code}"
    return f"was ended by {name} (exit code {code})"
