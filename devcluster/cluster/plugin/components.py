"""The plugin's programs and configuration files. Pure."""

import sys
from pathlib import Path

from devcluster.cluster import settings
from devcluster.cluster.components import Component
from devcluster.cluster.node import configs
from devcluster.cluster.node.components import NAMESPACES
from devcluster.cluster.node.facts import PLUGIN
from devcluster.cluster.paths import RuntimePaths

ADDRESS = settings.CONTROL_PLANE_IP
CGROUP = f"{settings.CGROUP}/{PLUGIN}"


def init(paths: RuntimePaths) -> Component:
    """Process 1 of its namespaces, which starts the others. The cluster goes on without it."""
    argv = (*NAMESPACES, sys.executable, "-m", "devcluster.cluster.plugin")
    return Component(f"{paths.name}/init", argv, holds_namespace=True, may_end=True)


def containerd(paths: RuntimePaths) -> Component:
    """The container runtime."""
    return Component(
        f"{paths.name}/containerd", (str(paths.base.bin / "containerd"), "--config", str(paths.etc / "containerd.toml")), "node"
    )


def server(paths: RuntimePaths) -> Component:
    """The HTTP server."""
    flags = {
        "home": paths.home / "server",
        "socket": paths.base.plugin_socket,
        "bin": paths.base.bin,
        "containerd": paths.socket,
        "hosts": paths.etc / "certs.d",
        # In the private /run, so that nothing of a network outlives the namespaces.
        "networks": "/run/netns",
        "cgroup": CGROUP,
        "address": ADDRESS,
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    return Component(f"{paths.name}/server", (sys.executable, "-m", "devcluster.plugin", *words), "node")


def sockets(paths: RuntimePaths) -> list[Path]:
    """The files that containerd leaves."""
    return [paths.socket, paths.socket.with_name(f"{paths.socket.name}.ttrpc")]


def files(paths: RuntimePaths) -> dict[str, str]:
    """Every configuration file by its name below `etc/`."""
    return {
        "containerd.toml": containerd_config(paths),
        "certs.d/_default/hosts.toml": configs.registry_mirror(),
        "hosts": "127.0.0.1 localhost\n",
    }


def containerd_config(paths: RuntimePaths) -> str:
    """containerd without Kubernetes' interface to it: content in the cache, state in the private `/run`."""
    return f"""version = 3
root = "{paths.containerd}"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.grpc.v1.cri",
  "io.containerd.cri.v1.images",
  "io.containerd.cri.v1.runtime",
  "io.containerd.podsandbox.controller.v1.podsandbox",
  "io.containerd.nri.v1.nri",
]

[grpc]
address = "{paths.socket}"

[plugins."io.containerd.internal.v1.opt"]
path = "{paths.home / "opt"}"

[plugins."io.containerd.metadata.v1.bolt"]
# Nothing is kept after a crash (see `node.runtime`), so nothing needs to survive one.
no_sync = true
"""
