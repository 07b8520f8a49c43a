"""Where the embedded cluster's files are. Everything lives in the cache; nothing is written anywhere else on the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from devcluster.build import cache


@dataclass(frozen=True)
class Paths:
    """The layout below one cache directory.

    `cluster/` is the running cluster and goes away with it, but for its logs; `containerd/` and `registry/` outlive it, so
    that the next start neither pushes nor pulls an image again.
    """

    cache: Path

    @cached_property
    def bin(self) -> Path:
        """The binaries that `devcluster.build` made."""
        return self.cache / "bin"

    @cached_property
    def containerd(self) -> Path:
        """containerd's images and snapshots, kept between clusters."""
        return self.cache / "containerd"

    @cached_property
    def containerd_clean(self) -> Path:
        """Marker: the last cluster ended in order and left no container in `containerd`."""
        return self.cache / "containerd.clean"

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
    def var(self) -> Path:
        """What the cluster's processes see as `/var`."""
        return self.cluster / "var"

    @cached_property
    def netns(self) -> Path:
        """Mount point of the cluster's network namespace (mounted only inside the supervisor's mount namespace)."""
        return self.cluster / "netns"

    @cached_property
    def caddy_socket(self) -> Path:
        """caddy's admin API."""
        return self.cluster / "caddy.sock"


def default() -> Paths:
    """The layout of this user's cache."""
    return Paths(cache.root())
