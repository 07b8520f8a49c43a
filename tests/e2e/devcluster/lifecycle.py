"""The running cluster's processes, for tests that end them."""

from __future__ import annotations

from pathlib import Path

from devcluster.cluster import launcher, paths, state


def supervisor() -> state.Supervisor:
    """The cluster's supervisor."""
    found = state.load_supervisor(paths.default())
    assert found is not None
    return found


def programs(name: str) -> list[int]:
    """The cluster's components of that name."""
    return [pid for pid in launcher.members(supervisor()) if command_line(pid)[1:2] == [name]]


def command_line(pid: int) -> list[str]:
    """What a process was started with; empty for one that has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
