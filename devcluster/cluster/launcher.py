"""Starts and ends the supervisor from the machine's side."""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from devcluster.cluster import configs, pki, state
from devcluster.cluster.node import components, facts
from devcluster.cluster.node import configs as node_configs
from devcluster.cluster.paths import NodePaths, Paths

INIT_SECONDS = 5.0
STOP_SECONDS = 30.0
KILL_SECONDS = 10.0


def start(paths: Paths, claimed: int) -> state.Supervisor:
    """Make a new cluster's files, start its supervisor, return as soon as it runs. The file descriptor `claimed`, of the
    machine's one cluster, stays open for as long as the cluster runs."""
    _keep_last_log(paths)
    _wipe(paths.cluster)
    paths.log.mkdir(parents=True)
    pki.write(paths.pki)
    configs.write(paths.etc, configs.files(paths))
    for node in facts.wanted():
        files = NodePaths(paths, node)
        files.log.mkdir()
        configs.write(files.etc, node_configs.files(files))
    _write_kubeconfig(paths)
    state.save(paths.state, state.State("Starting"))
    outer = _process(_spawn(paths, claimed))
    # At once: should we be ended now, `down` must still know whom to end.
    state.save_supervisor(paths, state.Supervisor(outer, outer))
    init = _wait_for_init(outer.pid, paths)
    supervisor = state.Supervisor(outer, init)
    state.save_supervisor(paths, supervisor)
    return supervisor


def is_running(paths: Paths) -> bool:
    """Whether a supervisor of ours runs, healthy or not."""
    supervisor = state.load_supervisor(paths)
    return supervisor is not None and supervisor.init.is_alive()


def stop(paths: Paths) -> None:
    """End the supervisor: politely, so that images can be kept, then by force. Returns when no process of it is left."""
    supervisor = state.load_supervisor(paths)
    if supervisor is None:
        return
    if supervisor.init.is_alive():
        _signal(supervisor.init, signal.SIGTERM)
        _wait_until_gone(supervisor, STOP_SECONDS)
    for process in (supervisor.init, supervisor.outer):
        if process.is_alive():
            _signal(process, signal.SIGKILL)
    _wait_until_gone(supervisor, KILL_SECONDS)
    with contextlib.suppress(ChildProcessError):  # it is our own child when `up` ran in this process
        os.waitpid(supervisor.outer.pid, os.WNOHANG)


def _spawn(paths: Paths, claimed: int) -> int:
    """The supervisor in new namespaces; the pid of `unshare`. Spawned, not run by `subprocess`, because it outlives us."""
    log = str(paths.log / "supervisor.log")
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    os.set_inheritable(claimed, True)
    argv = [*components.NAMESPACES, sys.executable, "-m", "devcluster.cluster.supervisor"]
    return os.posix_spawnp(argv[0], argv, configs.environment(paths), file_actions=actions, setsid=True)


def _process(pid: int) -> state.Process:
    stat = state.read_stat(pid)
    return state.Process(pid, stat.start_time if stat else 0)


def _wait_for_init(outer: int, paths: Paths) -> state.Process:
    """`unshare`'s child: the first process of the new pid namespace."""
    deadline = time.monotonic() + INIT_SECONDS
    while time.monotonic() < deadline:
        for stat in state.processes():
            if stat.parent == outer:
                return state.Process(stat.pid, stat.start_time)
        time.sleep(0.01)
    raise RuntimeError(f"the supervisor did not start; see {paths.log / 'supervisor.log'}")


def _wait_until_gone(supervisor: state.Supervisor, seconds: float) -> None:
    """Wait for process 1, which the kernel lets end only after every other process of its pid namespace, and for who waits for
    it outside."""
    deadline = time.monotonic() + seconds
    while (supervisor.init.is_alive() or supervisor.outer.is_alive()) and time.monotonic() < deadline:
        time.sleep(0.05)


def members(supervisor: state.Supervisor) -> list[int]:
    """The cluster's processes, those of its nodes and pods among them. None once its process 1 is gone, since the kernel lets it
    end only as the last of them."""
    return state.descendants(supervisor.init.pid, state.processes()) if supervisor.init.is_alive() else []


def _signal(process: state.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)


def _write_kubeconfig(paths: Paths) -> None:
    paths.kubeconfig.touch(mode=0o600)
    paths.kubeconfig.write_bytes((paths.pki / "admin.kubeconfig").read_bytes())


def _keep_last_log(paths: Paths) -> None:
    """The logs of the cluster before this one often say why there had to be another."""
    if paths.log.exists():
        shutil.rmtree(paths.last_log, ignore_errors=True)
        paths.log.rename(paths.last_log)


def _wipe(folder: Path) -> None:
    """Remove the last cluster's files. Refuses while anything is mounted below: removing would reach into the mount."""
    mounted = mounts_below(folder)
    if mounted:
        raise RuntimeError(f"still mounted: {', '.join(mounted)}")
    if folder.exists():
        shutil.rmtree(folder)


def mounts_below(folder: Path) -> list[str]:
    """Mount points of the machine at or below `folder`."""
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [place for place in places if Path(place).is_relative_to(folder)]
