"""What the programs are started with."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import components, configs
from devcluster.cluster.components import Component
from devcluster.cluster.node import components as node_components
from devcluster.cluster.node import configs as node_configs
from devcluster.cluster.node import facts
from devcluster.cluster.paths import NodePaths, Paths

PATHS = Paths(Path("/cache"))
FIRST, SECOND = (NodePaths(PATHS, node) for node in facts.ALL)


def of_nodes() -> list[Component]:
    parts = (node_components.containerd, node_components.kubelet, node_components.proxy)
    return [part(node) for node in (FIRST, SECOND) for part in parts]


def flags(argv: tuple[str, ...]) -> dict[str, str]:
    return dict(word[2:].split("=", 1) for word in argv if word.startswith("--") and "=" in word)


def test_only_the_ingress_lives_on_the_machines_side() -> None:
    everything = components.first(PATHS) + components.after_api(PATHS) + of_nodes()
    assert [item.name for item in everything if item.side == "machine"] == ["ingress-proxy", "ingress"]
    assert len({item.name for item in everything}) == len(everything)


def test_what_needs_the_api_server_is_started_after_it() -> None:
    assert "kube-controller-manager" in [item.name for item in components.after_api(PATHS)]


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


def test_every_program_is_one_of_the_cache_or_this_python() -> None:
    for component in components.first(PATHS) + components.after_api(PATHS) + of_nodes():
        assert component.argv[0].startswith("/cache/bin/") or component.name == "ingress"


def test_json_files_are_json() -> None:
    assert json.loads(configs.files(PATHS)["volumes.json"])
    assert json.loads(node_configs.files(FIRST)["cni/10-bridge.conflist"])


def test_containerd_keeps_images_in_the_cache_and_asks_our_registry_for_every_image() -> None:
    files = node_configs.files(FIRST)
    config = tomllib.loads(files["containerd.toml"])
    assert config["root"] == "/cache/containerd"
    assert (
        config["plugins"]["io.containerd.cri.v1.images"]["registry"]["config_path"]
        == "/cache/cluster/nodes/nestor-dev/etc/certs.d"
    )
    mirror = tomllib.loads(files["certs.d/_default/hosts.toml"])
    assert mirror["server"] == "http://10.40.0.2:5000"
    assert mirror["host"] == {"http://10.40.0.2:5000": {"capabilities": ["pull", "resolve"]}}


def test_pods_live_in_cgroups_of_our_own() -> None:
    roots = [yaml.safe_load(node_configs.files(node)["kubelet.yaml"])["cgroupRoot"] for node in (FIRST, SECOND)]
    assert roots == ["/nestor-dev/node-1", "/nestor-dev/node-2"]


def test_addresses_of_pods_are_forgotten_with_the_cluster() -> None:
    assert node_configs.cni(PATHS.all_nodes()[0])["plugins"][0]["ipam"]["dataDir"].startswith("/run/")
    assert node_configs.cni(PATHS.all_nodes()[0])["plugins"][0]["hairpinMode"] is True


def test_the_ports_reach_the_ingress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTOR_HTTP_PORT", "9090")
    assert configs.environment(PATHS)["NESTOR_HTTP_PORT"] == "9090"
