"""Processor time and memory of the embedded cluster's processes, by what they are."""

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
_SETTLED = 1.0
"""Seconds of processor time after which no process becomes another program."""
_TICKS = os.sysconf("SC_CLK_TCK")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f_-]{27})")
SHORT = "short-lived, not seen"
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


def name(argv: Sequence[str], *, is_of_job: bool) -> str:
    """What a process is, and whether it is one of a job's pods."""
    words = [word.rpartition("/")[2] for word in argv if word] or ["?"]
    if words[0].startswith("python"):
        words = [word for word in words[1:] if word != "-m"] or words
    if words[0] in ("kube", "k3s", "nestor"):
        words = [" ".join(words[:2]).removeprefix("nestor ")]
    return f"{'job' if is_of_job else 'host'}: {words[0].removeprefix('devcluster.cluster.').rstrip(':')}"


def account(begin: dict[Key, float], seen: dict[Key, tuple[str, float]], total: float) -> dict[str, float]:
    """Seconds by name; what ended before it was seen is in `total`, since its parent has its time."""
    found: defaultdict[str, float] = defaultdict(float)
    for key, (who, seconds) in seen.items():
        found[who] += seconds - begin.get(key, 0.0)
    found[SHORT] = max(0.0, total - sum(found.values()))
    return dict(found)


class Meter:
    """Looks at all processes of the cluster, some times a second. `others`: the UIDs of the pods that are no job's."""

    def __init__(self, others: set[str]) -> None:
        self._others = others
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
                    found[who] += read_memory(pid, "Pss")
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
        found = _read_all()
        mine = state.descendants(self._root, [state.Stat(item.pid, "", item.parent, item.start) for item in found.values()])
        for item in [found[pid] for pid in mine if pid in found]:
            key = (item.pid, item.start)
            # A process is another program after its exec, and in its pod only then.
            if key not in self._names or item.own < _SETTLED:
                self._names[key] = self._identify(item.pid) or self._names.get(key, (SHORT, ""))
            self.seen[key] = (self._names[key][0], item.own)
        return sum(found[pid].own + found[pid].ended for pid in mine if pid in found)

    def _identify(self, pid: int) -> tuple[str, str] | None:
        """Its name, and the UID of its pod; None once it has ended."""
        try:
            argv, groups = (Path(f"/proc/{pid}/{file}").read_text() for file in ("cmdline", "cgroup"))
        except OSError:
            return None
        if not argv:
            return None
        found = _POD.search(groups)
        pod = found[1].replace("_", "-") if found else ""
        return name(argv.split("\0"), is_of_job=bool(pod) and pod not in self._others), pod


def read_memory(pid: int, kind: str) -> float:
    """In MB: `Pss` or `Rss`. Raises `OSError`."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")) / 1024


def read(pid: int) -> Process:
    """Raises `OSError`."""
    return parse(pid, Path(f"/proc/{pid}/stat").read_text())


def _read_all() -> dict[int, Process]:
    found: dict[int, Process] = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found[int(pid)] = read(int(pid))
    return found
