"""Who trusts whom."""

from __future__ import annotations

import base64
import ipaddress
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from devcluster.cluster import pki, settings
from devcluster.cluster.node import facts


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return pki.files()


def certificate(files: dict[str, bytes], name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(files[f"{name}.crt"])


@pytest.mark.parametrize(
    ("name", "authority"),
    [
        ("apiserver", "server-ca"),
        ("kubelet-server-nestor-dev", "server-ca"),
        ("kubelet-server-nestor-dev-2", "server-ca"),
        ("admin", "client-ca"),
        ("kubelet-nestor-dev", "client-ca"),
        ("kubelet-nestor-dev-2", "client-ca"),
        ("apiserver-kubelet-client", "client-ca"),
        ("etcd-server", "etcd-ca"),
        ("etcd-client", "etcd-ca"),
        ("front-proxy", "front-proxy-ca"),
    ],
)
def test_each_purpose_has_its_own_authority(files: dict[str, bytes], name: str, authority: str) -> None:
    issued, issuer = certificate(files, name), certificate(files, authority)
    issued.verify_directly_issued_by(issuer)
    assert not issued.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_the_api_server_is_reached_by_address_and_by_name(files: dict[str, bytes]) -> None:
    names = certificate(files, "apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "kubernetes.default.svc" in names.get_values_for_type(x509.DNSName)
    assert ipaddress.ip_address(settings.CONTROL_PLANE_IP) in names.get_values_for_type(x509.IPAddress)
    assert ipaddress.ip_address(settings.KUBERNETES_SERVICE_IP) in names.get_values_for_type(x509.IPAddress)


@pytest.mark.parametrize("node", ["nestor-dev", "nestor-dev-2"])
def test_the_kubelet_is_the_node_to_the_node_authorizer(files: dict[str, bytes], node: str) -> None:
    subject = certificate(files, f"kubelet-{node}").subject
    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == f"system:node:{node}"
    assert subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:nodes"


@pytest.mark.parametrize("node", facts.ALL, ids=lambda node: node.name)
def test_a_kubelet_is_reached_by_its_own_nodes_address_only(files: dict[str, bytes], node: facts.Node) -> None:
    names = certificate(files, f"kubelet-server-{node.name}").extensions.get_extension_for_class(x509.SubjectAlternativeName)
    addresses = names.value.get_values_for_type(x509.IPAddress)
    assert sorted(map(str, addresses)) == sorted([node.ip, "127.0.0.1"])


def test_clients_cannot_serve(files: dict[str, bytes]) -> None:
    usage = certificate(files, "admin").extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_a_kubeconfig_carries_all_it_needs(files: dict[str, bytes]) -> None:
    config = yaml.safe_load(files["admin.kubeconfig"])
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    assert cluster["server"] == "https://10.40.0.2:6443"
    assert base64.b64decode(cluster["certificate-authority-data"]) == files["server-ca.crt"]
    assert base64.b64decode(user["client-certificate-data"]) == files["admin.crt"]


def test_only_the_owner_reads_the_files(tmp_path: Path) -> None:
    pki.write(tmp_path / "pki")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "pki").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700
