"""Installing Nestor by its Helm chart, as an admin would."""

import contextlib
import os
import tempfile
from pathlib import Path

import yaml

import devcluster.cluster
from devcluster.build import cache
from devcluster.cluster import ClusterInfo, images
from devcluster.cluster import kind as kind_cluster
from devcluster.demo import values
from devcluster.demo.tools import DemoError, Tools
from devcluster.progress import Progress

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "nestor"
RELEASE = "nestor"
NAMESPACE = "nestor-system"
READY_SECONDS = 120

TRAEFIK = (
    "upgrade",
    "--install",
    "traefik",
    "traefik",
    "--repo",
    "https://traefik.github.io/charts",
    "--namespace",
    "traefik",
    "--create-namespace",
    "--set",
    "service.type=NodePort",
    "--set",
    f"ports.web.nodePort={kind_cluster.INGRESS_NODE_PORTS.http}",
    "--set",
    f"ports.websecure.nodePort={kind_cluster.INGRESS_NODE_PORTS.https}",
    "--wait",
)
"""An Ingress controller for kind clusters, at the NodePorts that their configuration leads the machine's ports to."""


def install_nestor(info: ClusterInfo, progress: Progress) -> None:
    """Install or upgrade Nestor and await its operator. Raises `DemoError`."""
    kind = os.environ.get("CLUSTER") or "embedded"
    tools = Tools(info.kubeconfig)
    if kind == "kind":
        devcluster.cluster.load(progress)
        with progress.stage("Install an Ingress controller (Traefik)"):
            tools.helm(*TRAEFIK)
    image = find_image(kind)
    digest = images.registry_digest(image) if kind == "embedded" else None
    with progress.stage("Install Nestor with Helm") as stage, contextlib.ExitStack() as stack:
        # Helm refuses an upgrade while there is another.
        stack.enter_context(cache.default().lock("install"))
        file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "values.yaml"
        file.write_text(yaml.safe_dump(values.build_values(kind, info, image, digest)))
        # Helm installs CRDs once and never changes them.
        tools.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CHART / "crds"))
        tools.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CHART / "crds"))
        try:
            tools.helm(
                "upgrade",
                "--install",
                RELEASE,
                str(CHART),
                "--namespace",
                NAMESPACE,
                "--create-namespace",
                "--values",
                str(file),
                "--wait",
                "--timeout",
                f"{READY_SECONDS}s",
                *adopting(kind),
            )
        except DemoError as error:
            raise DemoError(f"{error}\n\n{_describe_operator(tools)}") from error
        stage.detail = f"namespace {NAMESPACE}"


def adopting(kind: str) -> tuple[str, ...]:
    """In our own clusters, parts of Nestor that were applied by hand while developing become the release's."""
    return () if kind == "current" else ("--take-ownership", "--force-conflicts")


def find_image(kind: str) -> str:
    """Nestor's image: built and loaded by us, or, for somebody else's cluster, one that it can pull."""
    if kind != "current":
        return values.IMAGE
    image = os.environ.get("NESTOR_IMAGE", "")
    if ":" not in image.rpartition("/")[2]:
        raise DemoError(
            "CLUSTER=current needs an image that the cluster can pull: build it with `make image`, push it to a registry of "
            "yours, and set NESTOR_IMAGE=registry.example.com/nestor:tag"
        )
    return image


def _describe_operator(tools: Tools) -> str:
    """What the operator's pod says about itself, for an install that did not get ready."""
    try:
        pods = tools.kubectl("get", "pods", "-n", NAMESPACE, "-o", "wide")
        log = tools.kubectl("logs", "-n", NAMESPACE, "deployment/nestor", "--tail=30")
    except DemoError as error:
        return str(error)
    return f"{pods}\n{log}"
