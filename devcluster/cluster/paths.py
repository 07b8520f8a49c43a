"""Where the embedded cluster's files are. Everything lives in the cache; nothing is written anywhere else on the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from devcluster.build import cache
from devcluster.cluster.node import facts


@dataclass(frozen=True)
class Paths:
    """The layout below one cache directory.

    `cluster/` is the running cluster and goes away with it, but for its logs; the `containerd/` folders and
    `registry/` outlive it, so that the next start neither pushes nor pulls an image again.
    """

    cache: Path

    @cached_property
    def bin(self) -> Path:
        """The binaries that `devcluster.build` made."""
        return self.cache / "bin"

    @cached_property
    def registry(self) -> Path:
        """The image registry's storage, kept between clusters."""
        return self.cache / "registry"

    @cached_property
    def lock(self) -> Path:
        """Held by whoever starts or ends the cluster."""
        return self.cache / "cluster.lock"

    @cached_property
    def machine(self) -> Path:
        """The machine's own settings, to be put back by `down`; outside `cluster` so that it survives a crash."""
        return self.cache / "machine.json"

    @cached_property
    def cluster(self) -> Path:
        """The running cluster."""
        return self.cache / "cluster"

    @cached_property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.cluster / "kubeconfig"

    @cached_property
    def process(self) -> Path:
        """Who the supervisor is, written by the process that started it."""
        return self.cluster / "process.json"

    @cached_property
    def state(self) -> Path:
        """How far the supervisor is, written by itself."""
        return self.cluster / "state.json"

    @cached_property
    def log(self) -> Path:
        """One file per component."""
        return self.cluster / "log"

    @cached_property
    def last_log(self) -> Path:
        """The logs of the cluster before this one."""
        return self.cache / "cluster-log.last"

    @cached_property
    def volumes(self) -> Path:
        """The volumes that all nodes share."""
        return self.cluster / "volumes"

    @cached_property
    def pki(self) -> Path:
        """Certificates, keys and the components' kubeconfigs."""
        return self.cluster / "pki"

    @cached_property
    def etc(self) -> Path:
        """The components' configuration files."""
        return self.cluster / "etc"

    @cached_property
    def etcd(self) -> Path:
        """The cluster's state."""
        return self.cluster / "etcd"

    @cached_property
    def netns(self) -> Path:
        """Mount point of the control plane's network namespace (mounted only inside the supervisor's mount namespace)."""
        return self.cluster / "netns"

    @cached_property
    def ingress_socket(self) -> Path:
        """Takes the Ingress proxy's table."""
        return self.cluster / "ingress.sock"

    @cached_property
    def control_socket(self) -> Path:
        """Where the supervisor takes orders."""
        return self.cluster / "control.sock"

    @cached_property
    def nodes_home(self) -> Path:
        """A folder for each node of the running cluster."""
        return self.cluster / "nodes"

    def nodes(self) -> list[NodePaths]:
        """The nodes of the running cluster."""
        return [paths for paths in self.all_nodes() if paths.home.exists()]

    @cached_property
    def plugin(self) -> RuntimePaths:
        """The interLink plugin, wanted or not."""
        return RuntimePaths(self, facts.PLUGIN, f"containerd-{facts.PLUGIN}", f"{facts.PLUGIN}-containerd.sock")

    @cached_property
    def plugin_socket(self) -> Path:
        """Where the interLink plugin takes orders."""
        return self.cluster / f"{facts.PLUGIN}.sock"

    def all_nodes(self) -> list[NodePaths]:
        """The nodes that a cluster may have."""
        return [NodePaths(self, node) for node in facts.ALL]


@dataclass(frozen=True)
class RuntimePaths:
    """The layout of what has a containerd, a `/run` and a `/var` of its own: `home` goes away with the cluster, `containerd`
    outlives it."""

    base: Paths
    name: str
    store: str
    """Name of containerd's folder in the cache."""
    socket_name: str

    @cached_property
    def home(self) -> Path:
        """Its own files."""
        return self.base.nodes_home / self.name

    @cached_property
    def etc(self) -> Path:
        """Configuration files."""
        return self.home / "etc"

    @cached_property
    def run(self) -> Path:
        """Mount point of what its processes see as `/run`."""
        return self.home / "run"

    @cached_property
    def var(self) -> Path:
        """What its processes see as `/var`."""
        return self.home / "var"

    @cached_property
    def socket(self) -> Path:
        """containerd's API; a file that the machine sees too. Short, since a socket's path may have 107 characters."""
        return self.base.cluster / self.socket_name

    @cached_property
    def state(self) -> Path:
        """Why it ended, written by itself."""
        return self.home / "state.json"

    @cached_property
    def log(self) -> Path:
        """One file per component of it."""
        return self.base.log / self.name

    @cached_property
    def containerd(self) -> Path:
        """containerd's images and snapshots, kept between clusters."""
        return self.base.cache / self.store

    @cached_property
    def containerd_clean(self) -> Path:
        """Marker: the last cluster ended in order and left no container in `containerd`."""
        return self.base.cache / f"{self.store}.clean"


@dataclass(frozen=True)
class NodePaths(RuntimePaths):
    """The layout of one node."""

    node: facts.Node

    def __init__(self, base: Paths, node: facts.Node) -> None:
        super().__init__(base, node.name, node.store, f"node-{node.number}.sock")
        object.__setattr__(self, "node", node)

    @cached_property
    def policies_socket(self) -> Path:
        """Where the node's enforcer of network policies hears of new pods."""
        return self.base.cluster / f"policies-{self.node.number}.sock"

    @cached_property
    def stopped(self) -> Path:
        """Marker: the node was stopped by order."""
        return self.home / "stopped"


def default() -> Paths:
    """The layout of this user's cache."""
    return Paths(cache.root())
