"""Certificates as K3s, kube-apiserver and kubelet clients want them; Secrets that are renewed in time."""

import base64
import datetime
import json
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nestor.cluster import certificates, pki
from nestor.cluster.certificates import Pair
from nestor.cluster.home import build_secret
from nestor.cluster.pki import Authorities
from tests.unit.operator.builders import Object

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
WEEK = datetime.timedelta(days=7)


@pytest.fixture(scope="module")
def content() -> dict[str, bytes]:
    """A cluster's keys."""
    return pki.mint_authorities("hello", NOW)


@pytest.fixture(scope="module")
def secret(content: dict[str, bytes]) -> Object:
    """The Secret that holds them."""
    return build_secret({"name": "hello-pki"}, content)


@pytest.fixture(scope="module")
def authorities(secret: Object) -> Authorities:
    """What is read of it."""
    return Authorities.from_secret(secret)


@pytest.fixture(scope="module")
def access(authorities: Authorities) -> dict[str, bytes]:
    """What the cluster's own processes get."""
    return pki.mint_access(authorities, "10.43.0.5", NOW, WEEK)


def test_the_secret_has_every_file_that_k3s_looks_for(content: dict[str, bytes]) -> None:
    authorities = ("server", "client", "request-header", "etcd-peer", "etcd-server", "access")
    pairs = {f"{name}-ca.{ending}" for name in authorities for ending in ("crt", "key")}
    assert set(content) == {*pairs, "service.key", "token", "trusted-clients.crt"}
    assert len(content["token"]) == 64
    assert all(value.startswith(b"-----BEGIN EC PRIVATE KEY-----") for name, value in content.items() if name.endswith(".key"))


def test_authorities_may_sign_and_are_told_apart(content: dict[str, bytes]) -> None:
    names = set()
    for name in pki.AUTHORITIES:
        authority = x509.load_pem_x509_certificate(content[f"{name}.crt"])
        assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert authority.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
        assert authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        assert authority.not_valid_after_utc - NOW == datetime.timedelta(days=3650)
        names.add(authority.subject.rfc4514_string())
    assert len(names) == len(pki.AUTHORITIES)


def client_of(kubeconfig: bytes) -> x509.Certificate:
    """The client certificate in a kubeconfig."""
    user = json.loads(kubeconfig)["users"][0]["user"]
    return x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"]))


@pytest.mark.parametrize(
    ("key", "user", "server"),
    [
        ("runner.kubeconfig", "nestor:runner", "https://10.43.0.5"),
        ("syncer.kubeconfig", "nestor:syncer", "https://127.0.0.1:6443"),
    ],
)
def test_each_process_has_its_own_identity(
    authorities: Authorities, access: dict[str, bytes], key: str, user: str, server: str
) -> None:
    certificate = client_of(access[key])
    certificate.verify_directly_issued_by(authorities.access.x509)
    assert certificate.not_valid_after_utc == NOW + WEEK
    subject = certificate.subject
    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == user
    assert [item.value for item in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters"]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    cluster = json.loads(access[key])["clusters"][0]["cluster"]
    assert cluster["server"] == server
    assert cluster["tls-server-name"] == "kubernetes"


def test_the_kubelet_serves_localhost_for_the_server_ca(authorities: Authorities, access: dict[str, bytes]) -> None:
    kubelet = Pair(access["kubelet.crt"], access["kubelet.key"])
    kubelet.x509.verify_directly_issued_by(authorities.server.x509)
    names = kubelet.x509.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "nestor-metrics.kube-system.svc"]
    assert kubelet.private_key.public_key() == kubelet.x509.public_key()
    assert access["client-ca.crt"] == authorities.client.certificate


def test_the_admins_kubeconfig_works_with_ipv6(authorities: Authorities) -> None:
    content = pki.mint_admin_kubeconfig(authorities, "fd00::5", NOW, WEEK)
    assert json.loads(content["kubeconfig"])["clusters"][0]["cluster"]["server"] == "https://[fd00::5]"


def test_the_admin_is_in_a_group_that_can_lose_its_rights(authorities: Authorities) -> None:
    certificate = client_of(pki.mint_admin_kubeconfig(authorities, "10.43.0.5", NOW, WEEK)["kubeconfig"])
    certificate.verify_directly_issued_by(authorities.access.x509)
    assert certificate.subject.rfc4514_string() == "CN=nestor:admin,O=nestor:admins"
    assert certificate.not_valid_after_utc == NOW + WEEK


def test_the_api_server_trusts_k3ss_own_clients_and_ours(content: dict[str, bytes]) -> None:
    trusted = x509.load_pem_x509_certificates(content["trusted-clients.crt"])
    assert trusted == [x509.load_pem_x509_certificate(content[f"{name}.crt"]) for name in ("client-ca", "access-ca")]
    # Clients that choose a certificate by the names that K3s sends find both.
    assert trusted[0].subject == trusted[1].subject
    assert trusted[0].public_key() != trusted[1].public_key()


def test_a_new_authority_for_access_replaces_the_old_one_and_needs_other_certificates_as_another_address_does(
    content: dict[str, bytes],
) -> None:
    changed = pki.mint_access_authority("hello", content["client-ca.crt"], NOW)
    assert changed.keys() == {"access-ca.crt", "access-ca.key", "trusted-clients.crt"}
    assert changed["trusted-clients.crt"] == content["client-ca.crt"] + changed["access-ca.crt"]
    before, after = (Authorities.from_secret(build_secret({}, item)) for item in (content, content | changed))
    others = (before, after, replace(before, server=certificates.new_authority("x", NOW)))
    assert len({pki.content_key(*pair) for pair in [(before, "10.43.0.6"), *((item, "10.43.0.5") for item in others)]}) == 4


def test_the_dns_servers_keys_are_files_so_that_it_reads_renewed_ones(access: dict[str, bytes]) -> None:
    kubeconfig = json.loads(access["coredns.kubeconfig"])
    assert kubeconfig["users"][0]["user"] == {"client-certificate": "dns.crt", "client-key": "dns.key"}
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:8084"
    keys = Pair(access["dns.crt"], access["dns.key"])
    assert keys.x509.subject.rfc4514_string() == "CN=nestor:coredns"
    assert keys.private_key.public_key() == keys.x509.public_key()


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test that has a key or certificate parsed: OpenSSL takes minutes for some, and lets nothing else run meanwhile."""

    def fail(*_: object, **__: object) -> None:
        pytest.fail("it is parsed")

    monkeypatch.setattr("nestor.cluster.certificates.serialization.load_pem_private_key", fail)
    monkeypatch.setattr("nestor.cluster.certificates.x509.load_pem_x509_certificate", fail)


EC_KEY = b"-----BEGIN EC PRIVATE KEY-----\n%s\n-----END EC PRIVATE KEY-----\n"


LONG_KEY = b"-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----\n" % (b"A" * 10_000)
"""As long as one whose factors OpenSSL needs many seconds to check. None is to be parsed at all."""
SHORT_KEY = b"-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n"


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("head", [b"", b"-----BEGIN EC PRIVATE KEY-----\n", b"note\n"])
def test_no_key_is_parsed_that_is_not_of_our_form(head: bytes) -> None:
    ours = [b"\n" + certificates.new_key(), EC_KEY % (b"A" * 1000)]
    for key in (head + LONG_KEY, head + SHORT_KEY, *ours):
        with pytest.raises(
            ValueError, match="one PEM block of at most 1024 bytes that begins with -----BEGIN EC PRIVATE KEY-----"
        ):
            _ = Pair(b"", key).private_key


@pytest.mark.usefixtures("unread")
def test_no_certificate_is_parsed_that_is_too_large_or_not_alone(content: dict[str, bytes]) -> None:
    made, large = content["server-ca.crt"], b"-----BEGIN CERTIFICATE-----\n" + b"A" * 8192
    for certificate in (made + b"\n" * 8192, large, made + made, b"x" + made, b""):
        with pytest.raises(ValueError, match="one PEM block of at most 8192 bytes"):
            _ = Pair(certificate, b"").x509
        with pytest.raises(ValueError, match="one PEM block of at most 8192 bytes"):
            certificates.fingerprint(certificate)


def test_a_users_kubeconfig_with_another_key_or_of_another_size_is_made_anew_unread(
    authorities: Authorities, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pki.mint_admin_kubeconfig(authorities, "10.43.0.9", NOW, WEEK)["kubeconfig"]
    assert len(made) < pki.KUBECONFIG_LIMIT / 2

    def is_issued(text: bytes) -> bool:
        return pki.is_issued(build_secret({"name": "x"}, {"kubeconfig": text}), authorities, "10.43.0.9", NOW)

    monkeypatch.setattr("nestor.cluster.certificates.serialization.load_pem_private_key", lambda *_, **__: pytest.fail("parsed"))
    config = json.loads(made)
    for key in (LONG_KEY, SHORT_KEY):
        config["users"][0]["user"]["client-key-data"] = base64.b64encode(key).decode()
        assert not is_issued(json.dumps(config).encode())
    monkeypatch.setattr("nestor.cluster.pki.json.loads", lambda _: pytest.fail("parsed"))
    assert not is_issued(made + b" " * pki.KUBECONFIG_LIMIT)


@pytest.mark.parametrize("key", ["server-ca.crt", "client-ca.key", "access-ca.crt"])
@pytest.mark.parametrize("value", [None, b"", b"x", LONG_KEY, "other"], ids=["none", "empty", "text", "long", "other"])
def test_what_somebody_put_in_place_of_the_authorities_is_told(
    content: dict[str, bytes], key: str, value: bytes | str | None
) -> None:
    others = pki.mint_authorities("hello", NOW)
    changed = {name: item for name, item in content.items() if name != key}
    if value is not None:
        changed[key] = others[key] if isinstance(value, str) else value
    with pytest.raises(ValueError, match=r"expected one PEM block|the certificate is not for this key"):
        Authorities.from_secret(build_secret({"name": "hello-pki"}, changed))


def decode(secret: Object) -> Object:
    """The kubeconfig in a Secret."""
    found: Object = json.loads(base64.b64decode(secret["data"]["kubeconfig"]))
    return found


def test_only_a_kubeconfig_as_we_made_it_for_this_cluster_is_kept(authorities: Authorities) -> None:
    others = Authorities.from_secret(build_secret({"name": "x"}, pki.mint_authorities("hello", NOW)))
    made = build_secret({"name": "hello-kubeconfig"}, pki.mint_admin_kubeconfig(authorities, "10.43.0.9", NOW, WEEK))
    assert pki.is_issued(made, authorities, "10.43.0.9", NOW)
    assert not pki.is_issued(made, authorities, "10.43.0.10", NOW)
    assert not pki.is_issued(made, others, "10.43.0.9", NOW)
    assert not pki.is_issued(made, authorities, "10.43.0.9", NOW + datetime.timedelta(days=400))
    foreign = pki.mint_admin_kubeconfig(others, "10.43.0.9", NOW, WEEK)
    stranger = decode(build_secret({"name": "x"}, foreign))["users"][0]["user"]

    def tampered(**change: object) -> bool:
        found = decode(made)
        for path, value in change.items():
            place, _, key = path.partition("__")
            holder = found[place][0][place[:-1]] if key else found
            holder[(key or place).replace("_", "-")] = value
        text = json.dumps(found, indent=1) + "\n"
        return pki.is_issued(build_secret({"name": "x"}, {"kubeconfig": text.encode()}), authorities, "10.43.0.9", NOW)

    assert tampered()
    assert not tampered(clusters__server="https://evil.test")
    assert not tampered(clusters__insecure_skip_tls_verify=True)
    assert not tampered(users__exec={"command": "sh"})
    assert not tampered(users__client_key_data=stranger["client-key-data"])
    assert not tampered(users__client_certificate_data=stranger["client-certificate-data"])
    assert not tampered(
        users__client_certificate_data=stranger["client-certificate-data"], users__client_key_data=stranger["client-key-data"]
    )
    assert not tampered(users__client_key_data="!")
    assert not tampered(users=[])
    for content in (b"", b"[]", b"null", b"clusters: []", b"\xff"):
        assert not pki.is_issued(build_secret({"name": "x"}, {"kubeconfig": content}), authorities, "10.43.0.9", NOW)
    assert not pki.is_issued({"metadata": {}}, authorities, "10.43.0.9", NOW)
