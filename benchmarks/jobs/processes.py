"""Processor time and memory of the embedded cluster's processes, by what they are."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster import paths, state

_PERIOD = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f_-]{27})")
SHORT = "host: processes too short to be seen"
Key = tuple[int, int]
"""Number and start: numbers are used again."""


@dataclass(frozen=True)
class Process:
    """One at a moment."""

    pid: int
    parent: int
    start: int
    own: float
    """Seconds of processor time."""
    ended: float
    """That of its children that have ended."""


def parse(pid: int, text: str) -> Process:
    """The content of /proc/<pid>/stat."""
    fields = text.rpartition(")")[2].split()
    own, ended = (sum(map(int, fields[first : first + 2])) / _TICKS for first in (11, 13))
    return Process(pid, int(fields[1]), int(fields[19]), own, ended)


def name(argv: Sequence[str], *, is_in_pod: bool) -> str:
    """What a process is, and whether it belongs to a job: all pods do but the operator's."""
    words = [word for word in argv if word]
    program = Path(words[0]).name if words else "?"
    if program.startswith("python") and "-m" in words:
        program = " ".join(words[words.index("-m") + 1 :][: 2 if "nestor" in words else 1])
    elif program in ("kube", "k3s") and len(words) > 1:
        program = f"{program} {words[1]}"
    program = program.removeprefix("nestor ").removeprefix("devcluster.cluster.").rstrip(":")
    return f"{'job' if is_in_pod and program != 'operator' else 'host'}: {program}"


def account(begin: dict[Key, float], seen: dict[Key, tuple[str, float]], total: float) -> dict[str, float]:
    """Seconds by name; what ended before it was seen is in `total`, since its parent has its time."""
    found: defaultdict[str, float] = defaultdict(float)
    for key, (who, seconds) in seen.items():
        found[who] += seconds - begin.get(key, 0.0)
    found[SHORT] = max(0.0, total - sum(found.values()))
    return dict(found)


class Meter:
    """Looks at all processes of the cluster, some times a second."""

    def __init__(self) -> None:
        supervisor = state.load_supervisor(paths.default())
        assert supervisor is not None
        self._root = supervisor.init.pid
        self._names: dict[Key, tuple[str, str]] = {}
        self.seen: dict[Key, tuple[str, float]] = {}
        self.begin: dict[Key, float] = {}
        self._total = -self._look()
        self.begin = {key: seconds for key, (_, seconds) in self.seen.items()}

    def result(self) -> dict[str, float]:
        """Seconds since it was made, by name."""
        return account(self.begin, self.seen, self._total + self._look())

    def memory(self, pods: set[str]) -> dict[str, float]:
        """Proportional set size in MB of the processes of these pods, by name."""
        self._look()
        found: defaultdict[str, float] = defaultdict(float)
        for (pid, _), (who, pod) in self._names.items():
            with contextlib.suppress(OSError):
                if pod in pods:
                    [line] = [
                        line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
                    ]
                    found[who] += int(line.split()[1]) / 1024
        return dict(found)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look until the end of a `with` block."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()

    async def _run(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(_PERIOD)

    def _look(self) -> float:
        """Note them; seconds of all together, with those of children that have ended."""
        found = {item.pid: item for item in map(_read, filter(str.isdigit, os.listdir("/proc"))) if item}
        mine = state.descendants(self._root, [state.Stat(item.pid, "", item.parent, item.start) for item in found.values()])
        for item in [found[pid] for pid in mine if pid in found]:
            key = (item.pid, item.start)
            # A process is another program after its exec, and in its pod only then: its name counts once it has stayed.
            if key not in self._names or key not in self.seen or self.seen[key][1] < 2 / _TICKS:
                self._names[key] = _identify(item.pid)
            self.seen[key] = (self._names[key][0], item.own)
        return sum(found[pid].own + found[pid].ended for pid in mine if pid in found)


def _read(pid: str) -> Process | None:
    try:
        return parse(int(pid), Path(f"/proc/{pid}/stat").read_text())
    except OSError:
        return None


def _identify(pid: int) -> tuple[str, str]:
    """Its name, and the UID of its pod."""
    try:
        argv, groups = (Path(f"/proc/{pid}/{file}").read_text() for file in ("cmdline", "cgroup"))
    except OSError:
        return SHORT, ""
    pod = _POD.search(groups)
    return name(argv.split("\0"), is_in_pod=pod is not None), pod[1].replace("_", "-") if pod else ""
