"""Kubeconfigs that somebody else has written: what is used of them is checked, and nothing else is used."""

import base64
import copy
import datetime
import json
from typing import Any

import pytest
import yaml

from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.cluster.pki import build_kubeconfig
from nestor.kube import kubeconfig
from nestor.kube.kubeconfig import Refused

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
AUTHORITY = certificates.new_authority("far", NOW)
OWN = certificates.new_leaf(AUTHORITY, "nestor", NOW)
GOOD: Object = json.loads(build_kubeconfig("https://far.example:6443", AUTHORITY.certificate, OWN, "nestor"))


def changed(path: str, value: object) -> str:
    """The good one with one field set, or removed if it is None."""
    result = copy.deepcopy(GOOD)
    *way, last = path.split("/")
    here: Any = result
    for part in way:
        here = here[int(part) if part.isdigit() else part]
    if value is None:
        here.pop(last, None)
    else:
        here[last] = value
    return yaml.safe_dump(result)


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_what_is_used_of_a_kubeconfig(write: Any) -> None:
    found = kubeconfig.read_other(write(GOOD))
    assert found["clusters"][0]["cluster"] == GOOD["clusters"][0]["cluster"]
    assert found["users"][0]["user"] == GOOD["users"][0]["user"]


def test_the_current_context_counts() -> None:
    others = copy.deepcopy(GOOD)
    others["clusters"].insert(
        0, {"name": "other", "cluster": {"server": "https://other.example", "insecure-skip-tls-verify": True}}
    )
    others["users"].insert(0, {"name": "other", "user": {"exec": {"command": "sh"}}})
    others["contexts"].insert(0, {"name": "other", "context": {"cluster": "other", "user": "other"}})
    others["preferences"] = {}
    assert kubeconfig.read_other(yaml.safe_dump(others)) == kubeconfig.read_other(json.dumps(GOOD))


def test_a_token_and_the_systems_authorities() -> None:
    text = yaml.safe_load(changed("users/0/user", {"token": "abc.def-_"}))
    text["clusters"][0]["cluster"] = {"server": "https://far.example:6443"}
    found = kubeconfig.read_other(yaml.safe_dump(text))
    assert found["users"][0]["user"] == {"token": "abc.def-_"}
    assert found["clusters"][0]["cluster"] == {"server": "https://far.example:6443"}


CLUSTER, USER, CONTEXT = "clusters/0/cluster", "users/0/user", "contexts/0/context"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (f"{CLUSTER}/insecure-skip-tls-verify", True, "`cluster.insecure-skip-tls-verify`"),
        (f"{CLUSTER}/certificate-authority", "/etc/ca", "`cluster.certificate-authority`"),
        (f"{CLUSTER}/proxy-url", "http://evil.test", "`cluster.proxy-url`"),
        (f"{USER}/exec", {"command": "sh"}, "`user.exec`"),
        (f"{USER}/auth-provider", {"name": "oidc"}, "`user.auth-provider`"),
        (f"{USER}/tokenFile", "/etc/shadow", "`user.tokenFile`"),
        (f"{USER}/client-key", "/etc/shadow", "`user.client-key`"),
        (f"{USER}/username", "u", "`user.username`"),
        (f"{USER}/as", "system:admin", "`user.as`"),
        (f"{USER}/token", "t", "a token or a certificate, not both"),
        (USER, {"token": "two\nlines"}, "`user.token`"),
        (USER, {"token": ""}, "`user.token`"),
        (USER, {}, "`user.client-certificate-data`"),
        (f"{USER}/client-key-data", "%", "`user.client-key-data` must be a private key"),
        (f"{CLUSTER}/certificate-authority-data", base64.b64encode(b"x").decode(), "must be certificates"),
        (f"{CLUSTER}/server", "http://far.example", "`cluster.server`"),
        (f"{CLUSTER}/server", "https://user@far.example", "`cluster.server`"),
        (f"{CLUSTER}/server", "https://far.example/../x", "`cluster.server`"),
        (f"{CLUSTER}/server", "https://far.example/a?b", "`cluster.server`"),
        (f"{CLUSTER}/server", "https://169.254.169.254", "link-local"),
        (f"{CLUSTER}/server", "https://[fe80::1]", "link-local"),
        (f"{CLUSTER}/tls-server-name", "a b", "`cluster.tls-server-name`"),
        ("current-context", "other", "an entry in `contexts`"),
        ("current-context", None, "an entry in `contexts`"),
        (f"{CONTEXT}/cluster", "other", "an entry in `clusters`"),
        (f"{CONTEXT}/user", None, "an entry in `users`"),
        (f"{CONTEXT}/as", "x", "`context.as`"),
        ("clusters", {"a": "b"}, "an entry in `clusters`"),
    ],
)
def test_anything_else_is_refused_by_name(path: str, value: object, words: str) -> None:
    with pytest.raises(Refused) as caught:
        kubeconfig.read_other(changed(path, value))
    assert words in str(caught.value)


def test_a_proxy_may_have_a_path() -> None:
    found = kubeconfig.read_other(changed(f"{CLUSTER}/server", "https://proxy.example/k8s/clusters/c-1/"))
    assert found["clusters"][0]["cluster"]["server"] == "https://proxy.example/k8s/clusters/c-1"


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "a: [", "x" * (kubeconfig.SIZE_LIMIT + 1), "!!python/object/apply:os.system [id]", "[" * 50_000, "- " * 30_000],
)
def test_what_is_no_kubeconfig(text: str) -> None:
    with pytest.raises(Refused, match="the kubeconfig must"):
        kubeconfig.read_other(text)


def test_a_kubeconfig_that_is_too_long_is_not_read() -> None:
    with pytest.raises(Refused, match="not have more than"):
        kubeconfig.read_other(changed("preferences", "x" * kubeconfig.SIZE_LIMIT))


def test_a_server_with_a_token_from_elsewhere() -> None:
    authority = AUTHORITY.certificate.decode().replace("\n", "\r\n") + "\n\n"
    found = kubeconfig.build_with_token("https://far.example/", authority)
    cluster = found["clusters"][0]["cluster"]
    assert cluster["server"] == "https://far.example"
    assert base64.b64decode(cluster["certificate-authority-data"]) == AUTHORITY.certificate.strip()
    assert "certificate-authority-data" not in kubeconfig.build_with_token("https://far.example", "")["clusters"][0]["cluster"]
    with pytest.raises(Refused, match="certificates in PEM form"):
        kubeconfig.build_with_token("https://far.example", "no certificate")
