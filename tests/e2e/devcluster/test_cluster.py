"""Up, down, crashes: one process holds the cluster, and nothing outlives it. Runs before the tests that share a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from devcluster import cluster
from devcluster.cluster import launcher, paths, state
from devcluster.progress import Console
from tests.e2e.devcluster.web import wait_until


@pytest.fixture(autouse=True, scope="module")
def idle_machine(was_running: bool) -> Iterator[None]:
    """A machine whose cluster is ours to kill. Each test begins with `up`, whatever was left; the end leaves none."""
    if was_running:
        pytest.skip("a cluster runs already on this machine and is left alone ('python -m devcluster down' ends it)")
    yield
    assert cluster.down(Console()) == []


def supervisor() -> state.Supervisor:
    found = state.load_supervisor(paths.default())
    assert found is not None
    return found


def test_a_second_up_keeps_the_cluster() -> None:
    first = cluster.up(Console())
    before = supervisor()
    assert cluster.up(Console()) == first
    assert supervisor() == before
    assert cluster.status().healthy


@pytest.mark.parametrize("which", ["outer", "init"])
def test_killing_one_process_ends_all_and_up_works_again(which: str) -> None:
    cluster.up(Console())
    before = supervisor()
    os.kill(getattr(before, which).pid, signal.SIGKILL)
    wait_until(lambda: launcher.members(before) == [], "every process of the cluster has ended", 5)
    assert not cluster.status().running
    cluster.up(Console())
    assert supervisor() != before
    assert cluster.status().healthy


def test_a_component_that_ends_is_reported_with_its_last_words() -> None:
    cluster.up(Console())
    members = launcher.members(supervisor())
    os.kill(next(pid for pid in members if is_program(pid, "kube-scheduler")), signal.SIGKILL)
    wait_until(lambda: not cluster.status().running, "the cluster has ended itself", 15)
    message = cluster.status().message
    assert "kube-scheduler ended by itself with exit code -9" in message
    assert "kube-scheduler.log" in message


def test_a_component_that_hangs_is_noticed_by_up() -> None:
    cluster.up(Console())
    before = supervisor()
    os.kill(next(pid for pid in launcher.members(before) if is_program(pid, "kube-apiserver")), signal.SIGSTOP)
    cluster.up(Console())
    assert supervisor() != before
    assert cluster.status().healthy


def test_down_cleans_up_after_a_crash() -> None:
    cluster.up(Console())
    os.kill(supervisor().outer.pid, signal.SIGKILL)
    assert cluster.down(Console()) == []


def test_down_leaves_nothing_and_may_be_repeated() -> None:
    cluster.up(Console())
    assert cluster.leftovers() != []
    assert cluster.down(Console()) == []
    assert cluster.leftovers() == []
    assert cluster.down(Console()) == []
    assert not cluster.status().running


def is_program(pid: int, name: str) -> bool:
    """Whether a process is a component of that name."""
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")[1:2] == [name]
