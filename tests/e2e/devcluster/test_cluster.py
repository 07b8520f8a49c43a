"""Up, down, crashes: one process holds the cluster, and nothing outlives it. Runs before the tests that share a cluster."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster import cluster
from devcluster.cluster import embedded, launcher, paths
from devcluster.progress import Console
from tests.e2e.devcluster.lifecycle import await_healthy, command_line, programs, supervisor, wait_until

pytestmark = pytest.mark.usefixtures("idle_machine")


def test_a_second_up_keeps_the_cluster() -> None:
    first = cluster.up(Console())
    before = supervisor()
    assert cluster.up(Console()) == first
    assert supervisor() == before
    await_healthy()


@pytest.mark.parametrize("which", ["outer", "init"])
def test_killing_one_process_ends_all_and_up_works_again(which: str) -> None:
    cluster.up(Console())
    before = supervisor()
    os.kill(getattr(before, which).pid, signal.SIGKILL)
    wait_until(lambda: launcher.members(before) == [], "every process of the cluster has ended", 30)
    assert not cluster.status().running
    cluster.up(Console())
    assert supervisor() != before
    await_healthy()


def test_a_component_that_ends_is_reported_with_its_last_words() -> None:
    cluster.up(Console())
    os.kill(programs("kube-scheduler")[0], signal.SIGKILL)
    wait_until(lambda: not cluster.status().running, "the cluster has ended itself", 60)
    message = cluster.status().message
    assert "kube-scheduler ended by itself with exit code -9" in message
    assert "kube-scheduler.log" in message


@pytest.mark.parametrize("number", [0, 1])
def test_a_component_of_a_node_that_ends_is_reported_with_its_last_words(number: int) -> None:
    cluster.up(Console())
    name = cluster.nodes()[number]
    os.kill(next(pid for pid in programs("kubelet") if f"--hostname-override={name}" in command_line(pid)), signal.SIGKILL)
    wait_until(lambda: not cluster.status().running, "the cluster has ended itself", 60)
    message = cluster.status().message
    assert f"{name}/kubelet ended by itself with exit code -9" in message
    assert f"{name}/kubelet.log" in message


@pytest.mark.parametrize("is_crash", [False, True])
def test_down_leaves_nothing_of_an_interlink_plugin(is_crash: bool) -> None:
    cluster.up(Console())
    cluster.plugin("up", Console())
    if is_crash:
        os.kill(supervisor().outer.pid, signal.SIGKILL)
    assert cluster.down(Console()) == []
    assert not cluster.plugin_status()[0]


def test_another_caches_down_leaves_the_cluster_alone(tmp_path: Path) -> None:
    cluster.up(Console())
    before = supervisor()
    environment = {**os.environ, "NESTOR_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "devcluster", "down"]
    down = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "Left alone: the cluster, started at 2" in down.stderr
    assert f"cache {paths.default().cache}" in down.stderr
    assert supervisor() == before
    await_healthy()


def test_a_component_that_hangs_is_noticed_by_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.up(Console())
    monkeypatch.setattr(embedded, "BUSY_SECONDS", 1)  # how long it is given is tested in tests/unit/devcluster
    before = supervisor()
    os.kill(programs("kube-apiserver")[0], signal.SIGSTOP)
    cluster.up(Console())
    assert supervisor() != before
    await_healthy()


def test_down_leaves_nothing_and_may_be_repeated() -> None:
    cluster.up(Console())
    assert cluster.leftovers() != []
    assert cluster.down(Console()) == []
    assert cluster.leftovers() == []
    assert cluster.down(Console()) == []
    assert not cluster.status().running
