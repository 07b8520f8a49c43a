"""What must be true of a machine before a cluster is started on it; all that is wrong is said at once."""

import os
import shutil
import socket
from pathlib import Path

from devcluster.cluster import cgroups, components, network, settings
from devcluster.cluster.paths import Paths

TOOLS = ("unshare", "nsenter", "mount", "ip", "iptables", "iptables-save", "iptables-restore", "nft")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


class Unsuitable(RuntimeError):
    """This machine cannot run the embedded cluster, for the reasons given."""


def check(paths: Paths) -> None:
    """Raises `Unsuitable` with every reason."""
    reasons = [*_rights(), *_tools(), *_missing_binaries(paths), *_cgroups(), *_network()]
    if reasons:
        hint = "With a cluster of your own, use CLUSTER=current; with Docker and kind, CLUSTER=kind."
        raise Unsuitable("\n".join(["the embedded cluster cannot run here:", *(f"- {reason}" for reason in reasons), hint]))


def _rights() -> list[str]:
    return [] if os.geteuid() == 0 else ["it needs root, for namespaces, mounts and cgroups"]


def _tools() -> list[str]:
    search = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=search) is None]
    return [f"not installed: {', '.join(missing)} (Debian: util-linux, iproute2, iptables, nftables)"] if missing else []


def _missing_binaries(paths: Paths) -> list[str]:
    missing = [name for name in components.BINARIES if not (paths.bin / name).exists()]
    return [f"not built: {', '.join(missing)}; run 'python -m devcluster build'"] if missing else []


def _cgroups() -> list[str]:
    root = cgroups.ROOT
    v2 = root / "cgroup.controllers"
    available = v2.read_text().split() if v2.exists() else [path.name for path in root.iterdir()] if root.exists() else []
    names = {name for entry in available for name in entry.split(",")}
    missing = [name for name in CONTROLLERS if name not in names]
    return [f"no cgroup controller at {root}: {', '.join(missing)}"] if missing else []


def _network() -> list[str]:
    reasons = [f"a route of this machine overlaps with the cluster's networks: {route}" for route in network.conflicts()]
    ports = settings.ports()
    for port, variable in ((ports.http, "NESTOR_HTTP_PORT"), (ports.https, "NESTOR_HTTPS_PORT")):
        if _is_taken(port):
            reasons.append(f"port {port} of 127.0.0.1 is taken; set {variable} to a free one")
    if not Path("/proc/sys/net/bridge").exists():
        reasons.append("kernel module br_netfilter is not loaded ('modprobe br_netfilter')")
    return reasons


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
