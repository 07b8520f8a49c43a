"""Runs targets of the Makefile one after the other, and tells what each of them cost, beside the last time."""

import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

TICKS = 100
"""Of /proc/stat per second, on every Linux that runs these tests."""


@dataclass(frozen=True)
class Phase:
    """One target that has been run. `processor`: seconds of all cores, of the whole machine: most of a test's work is done by
    processes that are not its children. `began`: in seconds since 1970.
    """

    target: str
    code: int
    wall: float
    processor: float
    tests: int
    began: float


def run_phase(target: str, reports: Path) -> Phase:
    """Run `make TARGET`; its tests are counted by the JUnit files that it leaves in `reports`."""
    began, busy = time.time(), read_busy(Path("/proc/stat").read_text())
    print(f"── {target}", flush=True)
    process = subprocess.Popen(["make", "--no-print-directory", target])
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.wait()  # the terminal has told it as well, and it takes its cluster down
        raise
    fresh = [file for file in reports.glob("*.xml") if file.stat().st_mtime >= began]
    tests = sum(count_tests(file.read_text()) for file in fresh)
    return Phase(target, code, time.time() - began, read_busy(Path("/proc/stat").read_text()) - busy, tests, began)


def read_busy(stat: str) -> float:
    """Seconds that all cores together have worked, by the text of /proc/stat."""
    user, nice, system, _idle, _waiting, hard, soft, *_ = map(int, stat.splitlines()[0].split()[1:])
    return (user + nice + system + hard + soft) / TICKS


def count_tests(junit: str) -> int:
    """Tests that ran, by the text of a JUnit file."""
    suites = ET.fromstring(junit).iter("testsuite")
    return sum(int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) for suite in suites)


def remember(phases: Iterable[Phase], kept: Path) -> dict[str, Phase]:
    """Add them to the runs that are kept, a line each; returns the last successful one of each target before."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    before = [Phase(**json.loads(line)) for line in lines]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a") as file:
        file.writelines(f"{json.dumps(asdict(phase))}\n" for phase in phases)
    return {phase.target: phase for phase in before if phase.code == 0}


def describe(phases: Sequence[Phase], before: dict[str, Phase]) -> list[str]:
    """A table of what each took, and the last time in brackets."""
    lines = [f"{'target':12} {'wall':>14} {'processor':>16} {'tests':>8}"]
    for phase in phases:
        last = before.get(phase.target)
        wall = f"{phase.wall:.0f} s{f' ({last.wall:.0f})' if last else ''}"
        processor = f"{phase.processor:.0f} s{f' ({last.processor:.0f})' if last else ''}"
        end = f"  failed ({phase.code})" if phase.code else ""
        lines.append(f"{phase.target:12} {wall:>14} {processor:>16} {phase.tests or '':>8}{end}")
    wall, processor, tests = (sum(getattr(phase, name) for phase in phases) for name in ("wall", "processor", "tests"))
    return [*lines, f"{'all':12} {f'{wall:.0f} s':>14} {f'{processor:.0f} s':>16} {tests:>8}"]
