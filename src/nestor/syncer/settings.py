"""What the process is told from outside."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

ACCESS_FOLDER = "/etc/nestor/access"


@dataclass(frozen=True)
class Settings:
    """Where things are. `host_kubeconfig` None means the pod's own service account."""

    namespace: str
    cluster: str
    access: Path
    host_kubeconfig: str | None = None
    health_port: int = 8081
    kubelet_port: int = 10250
    dns_ready_url: str = ""
    """Answers 200 once the cluster's DNS knows its names; empty: nothing is waited for."""
    server_uid: str = ""
    """UID of the pod that this process and the nested API server run in."""

    @property
    def nested_kubeconfig(self) -> str:
        """Opens the nested cluster as its admin."""
        return str(self.access / "syncer.kubeconfig")


def parse(arguments: list[str]) -> Settings:
    """Settings from the environment that the operator sets, and flags that tests use."""
    parser = argparse.ArgumentParser(prog="nestor syncer", description="Carry a nested cluster's pods into its host namespace.")
    parser.add_argument("--namespace", default=os.environ.get("POD_NAMESPACE"), help="host namespace (env POD_NAMESPACE)")
    parser.add_argument("--cluster", default=os.environ.get("NESTOR_CLUSTER"), help="NestedCluster (env NESTOR_CLUSTER)")
    parser.add_argument(
        "--access",
        type=Path,
        default=Path(os.environ.get("NESTOR_ACCESS", ACCESS_FOLDER)),
        help="folder of the access Secret (env NESTOR_ACCESS)",
    )
    parser.add_argument("--host-kubeconfig", help="kubeconfig of the host cluster instead of the pod's service account")
    parser.add_argument("--health-port", type=int, default=8081, help="port of /readyz, /healthz and /metrics")
    parser.add_argument("--kubelet-port", type=int, default=10250, help="loopback port of the kubelet API")
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
        os.environ.get("NESTOR_DNS_READY_URL", ""),
        os.environ.get("POD_UID", ""),
    )
