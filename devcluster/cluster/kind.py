"""`CLUSTER=kind`: a Kubernetes-in-Docker cluster for those who have Docker and kind. Commands are data, for the tests."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import yaml

from devcluster.cluster import paths, settings
from devcluster.cluster.info import ClusterInfo, Status
from devcluster.cluster.paths import Paths
from devcluster.progress import Progress

NAME = "nestor-dev"
INGRESS_NODE_PORTS = settings.Ports(http=30080, https=30443)
CREATE_SECONDS = 300


class Missing(RuntimeError):
    """Docker or kind is not installed."""


def config(ports: settings.Ports) -> str:
    """kind's configuration: the machine's ports lead to NodePorts, where an Ingress controller is to listen."""
    pairs = ((INGRESS_NODE_PORTS.http, ports.http), (INGRESS_NODE_PORTS.https, ports.https))
    mappings = [
        {"containerPort": inner, "hostPort": outer, "listenAddress": "127.0.0.1", "protocol": "TCP"} for inner, outer in pairs
    ]
    return yaml.safe_dump(
        {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "name": NAME,
            "nodes": [{"role": "control-plane", "extraPortMappings": mappings}],
        },
        sort_keys=False,
    )


def create_command(kubeconfig: Path) -> list[str]:
    """Create the cluster; its configuration comes by standard input."""
    return [
        "kind",
        "create",
        "cluster",
        "--name",
        NAME,
        "--kubeconfig",
        str(kubeconfig),
        "--wait",
        f"{CREATE_SECONDS}s",
        "--config",
        "-",
    ]


def delete_command(kubeconfig: Path) -> list[str]:
    """Delete the cluster."""
    return ["kind", "delete", "cluster", "--name", NAME, "--kubeconfig", str(kubeconfig)]


def build_command(reference: str, folder: Path) -> list[str]:
    """Build the image of a folder with a Dockerfile."""
    return ["docker", "build", "--quiet", "--tag", reference, str(folder)]


def load_command(reference: str) -> list[str]:
    """Load one of Docker's images into the node."""
    return ["kind", "load", "docker-image", reference, "--name", NAME]


def up(progress: Progress) -> ClusterInfo:
    """Create the cluster unless it is there."""
    layout = paths.default()
    file = kubeconfig(layout)
    _require("docker", "kind")
    if NAME not in _run(["kind", "get", "clusters"]).split():
        file.parent.mkdir(parents=True, exist_ok=True)
        with progress.stage("Create a kind cluster"):
            _run(create_command(file), config(settings.ports()))
    else:
        _run(["kind", "export", "kubeconfig", "--name", NAME, "--kubeconfig", str(file)])
    return ClusterInfo(file, settings.ports().http, settings.DOMAIN, "", settings.ports().https)


def load(images: Iterable[tuple[str, Path]], progress: Progress) -> None:
    """Build these images, each from its folder, and load them into the node: kind has no registry of its own.

    Everything else (K3s, CoreDNS, what applications run) the node pulls from the public registries.
    """
    _require("docker", "kind")
    for reference, folder in images:
        with progress.stage(f"Build {reference} with Docker and load it into the kind node"):
            _run(build_command(reference, folder))
            _run(load_command(reference))


def down(progress: Progress) -> None:
    """Delete the cluster; no error when there is none."""
    with progress.stage("Delete the kind cluster"):
        _require("kind")
        _run(delete_command(kubeconfig(paths.default())))


def status() -> Status:
    """Whether the cluster exists."""
    try:
        _require("docker", "kind")
        there = NAME in _run(["kind", "get", "clusters"]).split()
    except RuntimeError as error:
        return Status("kind", False, False, str(error))
    return Status("kind", there, there, f"kind cluster '{NAME}' {'is there' if there else 'does not exist'}")


def kubeconfig(layout: Paths) -> Path:
    """kind's kubeconfig, kept apart from the user's own."""
    return layout.cache / "kind" / "kubeconfig"


def _require(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise Missing(f"CLUSTER=kind needs {' and '.join(missing)}, which is not installed")


def _run(command: list[str], text: str | None = None) -> str:
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"'{' '.join(command[:3])}' failed: {result.stderr.strip()}")
    return result.stdout
