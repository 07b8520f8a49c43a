"""What the process is told from outside."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from nestor.contracts import syncer
from nestor.contracts.cluster import SYNCER_KUBECONFIG


@dataclass(frozen=True)
class Settings:
    """Where things are. `host_kubeconfig` None means the pod's own service account."""

    namespace: str
    cluster: str
    access: Path
    host_kubeconfig: str | None = None
    health_port: int = syncer.HEALTH_PORT
    kubelet_port: int = syncer.KUBELET_PORT
    dns_ready_url: str = ""
    """Answers 200 once the cluster's DNS knows its names; empty: nothing is waited for."""
    server_uid: str = ""
    """UID of the pod that this process and the nested API server run in."""

    @property
    def nested_kubeconfig(self) -> str:
        """Opens the nested cluster as its admin."""
        return str(self.access / SYNCER_KUBECONFIG)


def parse(arguments: list[str]) -> Settings:
    """Settings from the environment that the operator sets, and flags that tests use."""
    parser = argparse.ArgumentParser(prog="nestor syncer", description="Carry a nested cluster's pods into its host namespace.")
    parser.add_argument(
        "--namespace", default=os.environ.get(syncer.NAMESPACE_VARIABLE), help="host namespace (env POD_NAMESPACE)"
    )
    parser.add_argument("--cluster", default=os.environ.get(syncer.CLUSTER_VARIABLE), help="NestedCluster (env NESTOR_CLUSTER)")
    parser.add_argument(
        "--access",
        type=Path,
        default=Path(os.environ.get("NESTOR_ACCESS", syncer.ACCESS_FOLDER)),
        help="folder of the access Secret (env NESTOR_ACCESS)",
    )
    parser.add_argument("--host-kubeconfig", help="kubeconfig of the host cluster instead of the pod's service account")
    parser.add_argument("--health-port", type=int, default=syncer.HEALTH_PORT, help="port of /readyz, /healthz and /metrics")
    parser.add_argument("--kubelet-port", type=int, default=syncer.KUBELET_PORT, help="loopback port of the kubelet API")
    found = parser.parse_args(arguments)
    if not found.namespace or not found.cluster:
        parser.error("POD_NAMESPACE and NESTOR_CLUSTER must be set")
    return Settings(
        found.namespace,
        found.cluster,
        found.access,
        found.host_kubeconfig,
        found.health_port,
        found.kubelet_port,
        os.environ.get(syncer.DNS_READY_URL_VARIABLE, ""),
        os.environ.get(syncer.SERVER_UID_VARIABLE, ""),
    )
