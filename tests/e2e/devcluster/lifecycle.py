"""The running cluster's processes, for tests that end them, and its health, for those that see it come back. And how to wait."""

import time
from collections.abc import Callable
from pathlib import Path

from devcluster import cluster
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


def wait_until(is_met: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Poll from outside what cannot be watched (HTTP answers, the kernel)."""
    deadline = time.monotonic() + seconds
    while not is_met():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def await_healthy() -> None:
    """Await that each part of the cluster answers in time: that a busy machine answers one question late is no fault."""
    found = cluster.status()

    def is_healthy() -> bool:
        nonlocal found
        found = cluster.status()
        return found.healthy

    try:
        wait_until(is_healthy, "the cluster is healthy")
    except AssertionError:
        raise AssertionError(f"{found.message}; {found.checks}") from None
