"""What is known of the running cluster, in two small files: who the supervisor is, and how far it got."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from devcluster.cluster.paths import Paths

Phase = Literal["Starting", "Running", "Stopping", "Stopped", "Failed"]


@dataclass(frozen=True)
class Process:
    """A process of the machine that cannot be mistaken for a later one of the same number."""

    pid: int
    start_time: int
    """Clock ticks between the machine's boot and the process's start."""

    def is_alive(self) -> bool:
        """Whether it still runs; one that only waits to be reaped does not."""
        stat = read_stat(self.pid)
        return stat is not None and stat.start_time == self.start_time and stat.state not in "ZX"


@dataclass(frozen=True)
class Stat:
    """What `/proc/<pid>/stat` says."""

    pid: int
    state: str
    parent: int
    start_time: int


@dataclass(frozen=True)
class Supervisor:
    """The supervisor as the machine sees it: `outer` waits in the machine's namespaces for `init`, process 1 of the cluster.
    Ending either of them ends every process of the cluster."""

    outer: Process
    init: Process


@dataclass(frozen=True)
class State:
    """How far the supervisor got. `message` says why, with the end of the log of whoever is to blame."""

    phase: Phase
    message: str = ""
    component: str = ""


def read_stat(pid: int) -> Stat | None:
    """One process, or None when there is none of that number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name, in parentheses, may hold anything; what follows its end is fields from the third on.
    fields = text[text.rindex(")") + 2 :].split()
    return Stat(pid, fields[0], int(fields[1]), int(fields[19]))


def processes() -> list[Stat]:
    """Every process of the machine."""
    found = (read_stat(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [stat for stat in found if stat is not None]


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    return [stat.pid for stat in processes() if stat.parent == pid]


def descendants(pid: int, everyone: list[Stat]) -> list[int]:
    """A process and all that come from it. Orphans stay below process 1 of their pid namespace, so none is missed."""
    children: dict[int, list[int]] = {}
    for stat in everyone:
        children.setdefault(stat.parent, []).append(stat.pid)
    found = [pid]
    for known in found:  # grows while it is walked
        found += children.get(known, [])
    return found


def save_supervisor(paths: Paths, supervisor: Supervisor) -> None:
    """Remember whom to end."""
    _write(paths.process, asdict(supervisor))


def load_supervisor(paths: Paths) -> Supervisor | None:
    """The supervisor that was started last, alive or not. Another version of this package may have written the record, one with
    fewer or more fields: the same cache serves every checkout."""
    content = _read(paths.process)
    if content is None:
        return None
    outer, init = (Process(content[name]["pid"], content[name]["start_time"]) for name in ("outer", "init"))
    return Supervisor(outer, init)


def save(file: Path, state: State) -> None:
    """Publish how far a supervisor is."""
    _write(file, asdict(state))


def load(file: Path) -> State | None:
    """What the supervisor published last."""
    content = _read(file)
    return None if content is None else State(content["phase"], content.get("message", ""), content.get("component", ""))


def _write(path: Path, content: object) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(content, indent=1))
    temporary.replace(path)  # readers see the old or the new one, never half of it


def _read(path: Path) -> Any | None:
    """None when there is no record, or one that the machine's crash has left empty or in pieces: then nothing of it runs."""
    try:
        content: Any = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return content
