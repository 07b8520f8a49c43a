"""The syncer's settings, from the environment and the command line."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from nestor.api.contracts import syncer
from nestor.api.contracts.cluster import API_PORT, GATE_PORT, SYNCER_KUBECONFIG


@dataclass(frozen=True)
class Settings:
    """The settings. `host_kubeconfig` None means the pod's own service account."""

    namespace: str
    cluster: str
    access: Path
    host_kubeconfig: str | None = None
    health_port: int = syncer.HEALTH_PORT
    kubelet_port: int = syncer.KUBELET_PORT
    gate_port: int = GATE_PORT
    metrics_port: int = syncer.METRICS_PORT
    """0: there is no metrics API."""
    metrics_address: str = ""
    """Where the metrics API listens; empty: at the address of the server's pod."""
    services_port: int = syncer.SERVICES_PORT
    """Loopback port where the nested API server asks for addresses of new Services."""
    server_port: int = API_PORT
    """Loopback port of the nested API server."""
    dns_ready_url: str = ""
    """Returns 200 once the cluster's DNS can resolve names; empty: do not wait for DNS."""
    server_seconds: float = syncer.SERVER_SECONDS
    """How long K3s may run before it must be restarted."""
    server_uid: str = ""
    """UID of the pod that this process and the nested API server run in."""

    @property
    def nested_kubeconfig(self) -> str:
        return str(self.access / SYNCER_KUBECONFIG)


def parse(arguments: list[str]) -> Settings:
    """Read the settings: environment variables set by the operator, and flags used by tests."""
    parser = argparse.ArgumentParser(prog="nestor syncer", description="Run a nested cluster's pods in its host namespace.")
    parser.add_argument("--namespace", default=os.environ.get(syncer.NAMESPACE_VARIABLE), help="host namespace")
    parser.add_argument("--cluster", default=os.environ.get(syncer.CLUSTER_VARIABLE), help="NestedCluster")
    access = os.environ.get("NESTOR_ACCESS", syncer.ACCESS_FOLDER)
    parser.add_argument("--access", type=Path, default=Path(access), help="folder where the access Secret is mounted")
    parser.add_argument("--host-kubeconfig", help="kubeconfig of the host cluster instead of the pod's service account")
    for name in ("health_port", "kubelet_port", "gate_port", "services_port"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(Settings, name))
    found = parser.parse_args(arguments)
    if not found.namespace or not found.cluster:
        parser.error("POD_NAMESPACE and NESTOR_CLUSTER must be set")
    return Settings(
        **vars(found),
        dns_ready_url=os.environ.get(syncer.DNS_READY_URL_VARIABLE, ""),
        server_seconds=float(os.environ.get(syncer.SERVER_SECONDS_VARIABLE) or syncer.SERVER_SECONDS),
        server_uid=os.environ.get(syncer.SERVER_UID_VARIABLE, ""),
    )
