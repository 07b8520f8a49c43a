"""What the programs are started with."""

from pathlib import Path

from devcluster.cluster import components
from devcluster.cluster.node import facts
from devcluster.cluster.paths import NodePaths, Paths

PATHS = Paths(Path("/cache"))
FIRST, SECOND = (NodePaths(PATHS, node) for node in facts.ALL)


def flags(argv: tuple[str, ...]) -> dict[str, str]:
    return dict(word[2:].split("=", 1) for word in argv if word.startswith("--") and "=" in word)


def test_nothing_listens_beyond_the_clusters_own_network() -> None:
    assert flags(components.api_server(PATHS).argv)["bind-address"] == "10.40.0.2"
    assert flags(components.etcd(PATHS).argv)["listen-client-urls"] == "https://127.0.0.1:2379"
    assert flags(components.controller_manager(PATHS).argv)["bind-address"] == "127.0.0.1"
    assert flags(components.scheduler(PATHS).argv)["bind-address"] == "127.0.0.1"


def test_admission_is_a_real_clusters() -> None:
    found = flags(components.api_server(PATHS).argv)
    assert found["authorization-mode"] == "Node,RBAC"
    assert found["enable-admission-plugins"] == "NodeRestriction,ExtendedResourceToleration"


def test_kubelets_get_serving_certificates_that_the_api_server_trusts() -> None:
    signs, trusts = flags(components.controller_manager(PATHS).argv), flags(components.api_server(PATHS).argv)
    assert signs["cluster-signing-kubelet-serving-cert-file"] == trusts["kubelet-certificate-authority"]
    assert signs["cluster-signing-kubelet-client-cert-file"] == trusts["client-ca-file"]
    assert "cluster-signing-cert-file" not in signs  # may not be set beside the others
