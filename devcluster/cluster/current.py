"""`CLUSTER=current`: a cluster that is somebody else's, found by the current context of kubectl. Only looked at."""

import json
import os
import subprocess
from pathlib import Path

from devcluster.cluster.info import ClusterInfo, Status
from devcluster.progress import Progress

KUBECTL_SECONDS = 20


def up(progress: Progress) -> ClusterInfo:
    """Check that the cluster answers, and say what was found."""
    with progress.stage("Look at the current kubectl context") as stage:
        stage.detail = describe()
    return ClusterInfo(
        kubeconfig(),
        int(os.environ.get("NESTOR_HTTP_PORT", "80")),
        os.environ.get("NESTOR_DOMAIN", "nestor.localhost"),
        os.environ.get("NESTOR_INGRESS_CLASS") or default_ingress_class(_kubectl("get", "ingressclasses", "-o", "json")),
        int(os.environ.get("NESTOR_HTTPS_PORT", "443")),
        os.environ.get("NESTOR_INGRESS_ADDRESS", "127.0.0.1"),
    )


def status() -> Status:
    """Whether the cluster answers."""
    try:
        return Status("current", True, True, describe())
    except RuntimeError as error:
        return Status("current", False, False, str(error))


def kubeconfig() -> Path:
    """The file kubectl would read (the first one, when `KUBECONFIG` lists several)."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(named) if named else Path.home() / ".kube" / "config"


def describe() -> str:
    """Context, version and nodes. Raises `RuntimeError` when there is no cluster."""
    context = _kubectl("config", "current-context").strip()
    version = json.loads(_kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    nodes = json.loads(_kubectl("get", "nodes", "-o", "json"))["items"]
    return f"context '{context}', Kubernetes {version}, {len(nodes)} node{'s' if len(nodes) != 1 else ''}"


def default_ingress_class(listing: str) -> str:
    """The cluster's default class, else its only one, else none (then Ingresses carry no class)."""
    items = json.loads(listing)["items"]
    for item in items:
        annotations = item["metadata"].get("annotations") or {}
        if annotations.get("ingressclass.kubernetes.io/is-default-class") == "true":
            return str(item["metadata"]["name"])
    return str(items[0]["metadata"]["name"]) if len(items) == 1 else ""


def _kubectl(*arguments: str) -> str:
    command = ["kubectl", f"--request-timeout={KUBECTL_SECONDS}s", *arguments]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=KUBECTL_SECONDS + 10)
    except FileNotFoundError:
        raise RuntimeError("kubectl is not installed") from None
    if result.returncode != 0:
        raise RuntimeError(f"'kubectl {' '.join(arguments)}' failed: {result.stderr.strip()}")
    return result.stdout
