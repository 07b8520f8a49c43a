"""The embedded cluster alone, without Nestor: is it the Kubernetes that the other tests take it for?"""

import contextlib
import http.client
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster import cluster
from devcluster.cluster import ClusterInfo, paths
from devcluster.progress import Console

BUSYBOX = "docker.io/library/busybox:1.35"


@dataclass
class Kubectl:
    """kubectl with the admin's kubeconfig, in one namespace."""

    kubeconfig: Path
    namespace: str

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run it; a failure fails the test with kubectl's own words."""
        command = [str(paths.default().bin / "kubectl"), "--kubeconfig", str(self.kubeconfig), "-n", self.namespace]
        result = subprocess.run(
            [*command, *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=120, cwd="/"
        )
        assert result.returncode == 0, f"kubectl {' '.join(arguments)}: {result.stderr}"
        return result.stdout

    def apply(self, manifest: str) -> None:
        """Apply a manifest."""
        self("apply", "-f", "-", stdin=manifest)

    def run(self, name: str, script: str) -> str:
        """Run a shell script in a pod to its end; what it printed."""
        self("run", name, f"--image={BUSYBOX}", "--restart=Never", "--command", "--", "sh", "-c", script)
        self("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
        return self("logs", name)


@pytest.fixture(scope="session")
def was_running() -> bool:
    """Whether the machine had a cluster before the tests."""
    return cluster.status().running


@pytest.fixture(scope="session")
def embedded(was_running: bool) -> Iterator[ClusterInfo]:
    """A running embedded cluster; taken down at the end unless it ran before (or NESTOR_KEEP is set)."""
    yield cluster.up(Console())
    if not was_running and not os.environ.get("NESTOR_KEEP"):
        assert cluster.down(Console()) == []


@pytest.fixture(scope="module")
def idle_machine(was_running: bool) -> Iterator[None]:
    """A machine whose cluster is ours to kill. Each test begins with `up`, whatever was left; the end leaves none."""
    if was_running:
        pytest.skip("a cluster runs already on this machine and is left alone ('python -m devcluster down' ends it)")
    with cluster.hold("tests that start and end the cluster", Console()):
        yield
        assert cluster.down(Console()) == []


@contextlib.contextmanager
def fresh_namespace(embedded: ClusterInfo) -> Iterator[Kubectl]:
    """kubectl in a namespace of its own, deleted in the end, unless the test has ended the cluster."""
    name = f"devcluster-{uuid.uuid4().hex[:6]}"
    run = Kubectl(embedded.kubeconfig, name)
    run("create", "namespace", name)
    yield run
    if embedded.kubeconfig.exists():
        run("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def kubectl(embedded: ClusterInfo) -> Iterator[Kubectl]:
    """kubectl in a fresh namespace."""
    with fresh_namespace(embedded) as run:
        yield run


def page(place: str, path: str = "/") -> str:
    """A page of the web server, empty when it does not answer."""
    host, _, port = place.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    except OSError:
        return ""
    finally:
        connection.close()
