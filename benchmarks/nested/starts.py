"""What the processes take to start: imports are most of it."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.nested.installed import installed
from benchmarks.overflow.goals import Goal
from nestor.__main__ import PROCESSES

ROUNDS = 5
"""In turns. The best of them counts: the others had to share the processor."""
START_SECONDS = 0.25
_BESIDE = "import aiohttp"
_SAY = """
import resource
own = resource.getrusage(resource.RUSAGE_SELF)
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(own.ru_utime + own.ru_stime, line.split()[1])
"""
_CODE = {
    name: f"from nestor.__main__ import _import_process, starting\nwith starting(): _import_process({name!r})"
    for name in PROCESSES
}
_COMMAND = "from nestor.__main__ import starting\nwith starting(): import nestor.clients.cli.main"
_IMAGE = "import sys\nsys.modules['kubernetes'] = None  # which the image does not have, and kopf would import\n"


def starts() -> list[Goal]:
    """Processor time until a process begins to work, beside that of the HTTP library that all but one of them import."""
    codes = {_BESIDE: _BESIDE, **{name: _IMAGE + code for name, code in _CODE.items()}, "status": _COMMAND}
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in codes}
    with installed() as folder:
        for _ in range(ROUNDS + 1):
            for name, code in codes.items():
                found[name].append(_measure(code, folder))
    best = {name: min(times[1:]) for name, times in found.items()}
    beside = best[_BESIDE][0]
    print(f"starts: processor time and memory of imports, best of {ROUNDS}")
    for name, (seconds, size) in best.items():
        print(f"  {name:<15} {seconds:.3f} s, {seconds / beside:.2f} of `{_BESIDE}`, {size / 1024:.0f} MB")
    return [Goal(f"start of {name}", best[name][0], START_SECONDS, "s") for name in (*PROCESSES, "status")]


def _measure(code: str, folder: Path) -> tuple[float, int]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code + _SAY], env=environment, capture_output=True, text=True, check=True)
    seconds, size = done.stdout.split()
    return float(seconds), int(size)
