"""What a cluster that ended has left on the machine: it must be nothing, and tests hold it to that."""

import shutil
import subprocess
from pathlib import Path
from typing import Literal

from devcluster.cluster import cgroups, launcher, lock, machine, network, settings, state
from devcluster.cluster.node import facts
from devcluster.cluster.node.facts import PLUGIN
from devcluster.cluster.paths import Paths

_KINDS = (("node", ""), ("node", ".ttrpc"), ("policies", ""))
SOCKETS = tuple(
    f"{name}-{node.number}.sock{kind}"
    for node in facts.ALL
    for name, kind in (("node", ""), ("node", ".ttrpc"), ("policies", ""))
)
CLUSTER_FILES = (
    "process.json",
    "state.json",
    "kubeconfig",
    "pki",
    "etcd",
    "nodes",
    "netns",
    "ingress.sock",
    "control.sock",
    *(f"{PLUGIN}{kind}" for kind in (".sock", "-containerd.sock", "-containerd.sock.ttrpc")),
    *SOCKETS,
)
PROGRAMS = {"devcluster.cluster.supervisor", "devcluster.cluster.node", "devcluster.cluster.plugin", "devcluster.plugin"}
CHAINS = ("KUBE-", "CNI-")


def find(paths: Paths) -> list[str]:
    """Everything of the cluster that is still there, a sentence each."""
    return [*_own(paths), *([] if lock.other_cluster(paths) else _machine_wide(paths))]


def _own(paths: Paths) -> list[str]:
    """What nobody else's cluster can be the owner of."""
    folders = [paths.cluster, paths.plugin.containerd, *(node.containerd for node in paths.all_nodes())]
    return [
        *_processes(paths),
        *(f"mount {place}" for folder in folders for place in launcher.mounts_below(folder)),
        *(f"file {paths.cluster / name}" for name in CLUSTER_FILES if (paths.cluster / name).exists()),
    ]


def _machine_wide(paths: Paths) -> list[str]:
    """What a machine has once, ours unless another cache's cluster runs."""
    return [
        *([f"network link {settings.MACHINE_LINK}"] if network.link_exists() else []),
        *(f"route {route}" for route in _routes()),
        *(f"network namespace {path}" for path in Path("/run/netns").glob("*") if path.name.startswith(("cni-", "nestor"))),
        *(f"firewall rule {rule}" for rule in _firewall_rules()),
        *(f"cgroup {path}" for path in cgroups.existing()),
        *(f"machine setting {setting}" for setting in machine.changed(paths.machine)),
        *(f"file {place}" for place in machine.new_places(paths.machine)),
    ]


def _processes(paths: Paths) -> list[str]:
    """By descent where that is known; by what they were started with too, as the record may be lost."""
    supervisor = state.load_supervisor(paths)
    found = set(launcher.members(supervisor)) if supervisor else set()
    files = (f"{paths.etc}/", f"{paths.nodes_home}/", f"{paths.pki}/", f"{paths.netns}")
    for stat in state.processes():
        command = _words(stat.pid, "cmdline")
        if any(mark in word for word in command for mark in files) or (
            not PROGRAMS.isdisjoint(command) and f"NESTOR_CACHE={paths.cache}" in _words(stat.pid, "environ")
        ):
            found.add(stat.pid)
    return [f"process {pid}: {' '.join(_words(pid, 'cmdline'))[:120]}" for pid in sorted(found)]


def _words(pid: int, name: Literal["cmdline", "environ"]) -> list[str]:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _routes() -> list[str]:
    return [line for line in network.run(["ip", "-4", "route", "show"]).splitlines() if settings.MACHINE_LINK in line.split()]


def _firewall_rules() -> list[str]:
    """Rules of node software in the machine's own network namespace."""
    if shutil.which("iptables-save") is None:
        return []
    saved = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout
    return [line for line in saved.splitlines() if any(chain in line for chain in CHAINS)]
