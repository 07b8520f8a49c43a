"""Which certificate a host is served with, and what is said when there is none."""

import base64
from typing import Any

import pytest

from devcluster.cluster.certificates import Authority, KeyPair
from devcluster.cluster.ingress import tls
from nestor.api.objects import Object
from tests.unit.devcluster.cluster.ingress.builders import ingress, path, rule

AUTHORITY = Authority("test")
A = AUTHORITY.server("a", ["a.test"])
ANY = AUTHORITY.server("any", ["*.test"])


def secret(pair: KeyPair, namespace: str = "team", *, crt: bytes | None = None, key: bytes | None = None) -> Object:
    """A Secret with a key pair, or with something else in place of one half."""
    content = {"tls.crt": pair.certificate if crt is None else crt, "tls.key": pair.key if key is None else key}
    encoded = {file: base64.b64encode(text).decode() for file, text in content.items()}
    return {"metadata": {"name": "web-tls", "namespace": namespace}, "data": encoded}


def wants(*hosts: str) -> Object:
    return ingress(tls=[{"hosts": list(hosts), "secretName": "web-tls"}], rules=[rule("a.test", path())])


def messages(found: tls.Tls) -> list[str]:
    return [problem.message for problem in found.problems]


def test_an_entry_without_hosts_is_for_the_hosts_of_all_rules() -> None:
    rules = [rule("a.test", path()), rule("b.test", path()), rule(None, path())]
    found = tls.build([ingress(rules=rules, tls=[{"secretName": "web-tls"}])], [secret(ANY)])
    assert list(found.certificates) == ["a.test", "b.test"]


@pytest.mark.parametrize(
    ("half", "reason"),
    [
        pytest.param({"crt": b"\xff\xfe"}, "'tls.crt' is not text", id="binary"),
        pytest.param({"key": A.certificate}, "'tls.key' is not an unencrypted PEM private key", id="a certificate"),
        pytest.param({"key": ANY.key}, "is not the key of the certificate", id="other key"),
    ],
)
def test_what_is_wrong_with_a_secret_is_said(half: dict[str, Any], reason: str) -> None:
    found = tls.build([wants("a.test")], [secret(A, **half)])
    (message,) = messages(found)
    assert message.startswith("Secret 'web-tls': ")
    assert reason in message
    assert found.certificates == {}


def test_a_certificate_for_other_names_is_not_served() -> None:
    assert messages(tls.build([wants("b.test")], [secret(A)])) == [
        "Secret 'web-tls': its certificate is for a.test; b.test is served without TLS"
    ]


@pytest.mark.parametrize(
    ("pattern", "host", "fits"),
    [
        ("a.test", "a.test", True),
        ("A.test", "a.Test", True),
        ("a.test", "b.test", False),
        ("*.test", "a.test", True),
        ("*.test", "*.test", True),
        ("*.test", "b.a.test", False),
        ("*.test", "test", False),
        ("a.test", "*.test", False),
    ],
)
def test_wildcards_stand_for_one_element(pattern: str, host: str, fits: bool) -> None:
    assert tls.matches(pattern, host) is fits
