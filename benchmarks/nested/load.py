"""What else the machine had to do: times that were measured beside other work are mostly those of the queue for the processor."""

import time
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")


class Load:
    """How much of the time since it was made some process has waited for a processor, where the kernel tells."""

    def __init__(self) -> None:
        self._begin, self._waited = time.monotonic(), _read()

    def __str__(self) -> str:
        now = _read()
        if now is None or self._waited is None:
            return "the kernel does not say how busy the machine was"
        share = (now - self._waited) / (time.monotonic() - self._begin)
        return f"somebody waited for a processor {100 * share:.0f} % of the time"


def _read() -> float | None:
    """Seconds."""
    try:
        line = next(line for line in _PRESSURE.read_text().splitlines() if line.startswith("some"))
    except (OSError, StopIteration):
        return None
    return int(line.rpartition("total=")[2]) / 1e6
