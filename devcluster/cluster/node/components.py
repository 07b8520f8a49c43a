"""The programs of a node: what each is started with. Pure."""

import sys

from devcluster.cluster import settings
from devcluster.cluster.components import Component, kube
from devcluster.cluster.node.facts import FIRST
from devcluster.cluster.paths import NodePaths

NAMESPACES = (
    # --kill-child: when `unshare` itself is ended, the kernel ends process 1 of the namespace, and with it all others.
    "unshare",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount",
    "--propagation",
    "private",
    "--mount-proc",
    "--uts",
    "--ipc",
)


def init(paths: NodePaths) -> Component:
    """The node itself: process 1 of its namespaces, which starts the others. Ending it is a power cut."""
    own_network = paths.node != FIRST
    argv = (*NAMESPACES, *(["--net"] if own_network else []), sys.executable, "-m", "devcluster.cluster.node", paths.node.name)
    return Component(f"{paths.node.name}/node", argv, side="node" if own_network else "cluster", holds_namespace=True)


def containerd(paths: NodePaths) -> Component:
    """The container runtime."""
    argv = (str(paths.base.bin / "containerd"), "--config", str(paths.etc / "containerd.toml"))
    return Component(f"{paths.node.name}/containerd", argv, side="node")


def kubelet(paths: NodePaths) -> Component:
    """The node's agent."""
    return kube(
        paths.base,
        "kubelet",
        {
            "config": paths.etc / "kubelet.yaml",
            "kubeconfig": paths.base.pki / f"kubelet-{paths.node.name}.kubeconfig",
            "hostname-override": paths.node.name,
            "node-ip": paths.node.ip,
        },
        node=paths.node.name,
    )


def policies(paths: NodePaths) -> Component:
    """The enforcer of network policies, as nftables rules of the node's network namespace."""
    argv = (sys.executable, "-m", "devcluster.cluster.policies", "--node", paths.node.name)
    files = ("--socket", str(paths.policies_socket), "--pki", str(paths.base.pki))
    return Component(f"{paths.node.name}/policies", (*argv, *files), side="node")


def proxy(paths: NodePaths) -> Component:
    """Services as iptables rules of the node's network namespace."""
    return kube(
        paths.base,
        "kube-proxy",
        {
            "kubeconfig": paths.base.pki / "proxy.kubeconfig",
            "hostname-override": paths.node.name,
            "cluster-cidr": settings.POD_CIDR,
            "proxy-mode": "iptables",
            "bind-address": paths.node.ip,
            "healthz-bind-address": "127.0.0.1:10256",
            # Rules are written as soon as endpoints change; tests wait for it.
            "iptables-min-sync-period": "100ms",
            # conntrack's size is the machine's, not ours to set.
            "conntrack-max-per-core": "0",
            "conntrack-min": "0",
            "conntrack-tcp-timeout-established": "0s",
            "conntrack-tcp-timeout-close-wait": "0s",
        },
        node=paths.node.name,
    )
