"""The settings of the process, from the environment and the command line."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from nestor.api.contracts import vnode


@dataclass(frozen=True)
class Settings:
    """The settings. `kubeconfig` None means the pod's own service account."""

    backend: str
    namespace: str
    address: str
    """IP address of the kubelet API."""
    folder: Path = Path(vnode.IDENTITY_FOLDER)
    kubeconfig: str | None = None
    health_port: int = vnode.HEALTH_PORT
    kubelet_port: int = vnode.KUBELET_PORT


def parse(arguments: list[str]) -> Settings:
    parser = argparse.ArgumentParser(prog="nestor vnode", description="Run a backend's virtual nodes in the host cluster.")
    parser.add_argument(vnode.BACKEND_FLAG, required=True, help="OverflowBackend")
    parser.add_argument(
        "--namespace", default=os.environ.get(vnode.NAMESPACE_VARIABLE), help="the operator's namespace (env POD_NAMESPACE)"
    )
    parser.add_argument("--address", default=os.environ.get(vnode.POD_IP_VARIABLE), help="the pod's IP address (env POD_IP)")
    parser.add_argument("--folder", type=Path, default=Path(vnode.IDENTITY_FOLDER), help="where certificates are kept")
    parser.add_argument("--kubeconfig", help="kubeconfig of the host cluster instead of the pod's service account")
    parser.add_argument("--health-port", type=int, default=vnode.HEALTH_PORT, help="port of /readyz, /healthz and /metrics")
    parser.add_argument("--kubelet-port", type=int, default=vnode.KUBELET_PORT, help="port of the kubelet API")
    found = parser.parse_args(arguments)
    if not found.namespace or not found.address:
        parser.error("POD_NAMESPACE and POD_IP must be set")
    return Settings(**vars(found))
