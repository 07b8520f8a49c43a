"""Kubeconfigs of nested clusters: of a Secret's only what is checked is used; how they come into the user's own."""

import base64
import copy
import datetime
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.clients.cli import kubeconfigs
from nestor.clients.cli.commands import access
from nestor.clients.cli.exits import Failure
from nestor.cluster import certificates
from nestor.cluster.pki import build_kubeconfig
from nestor.kube.kubeconfig import SIZE_LIMIT

Object = dict[str, Any]
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
AUTHORITY = certificates.new_authority("nested", NOW)
ADMIN = certificates.new_leaf(AUTHORITY, "nestor:admin", NOW)
TEXT = build_kubeconfig("https://10.43.0.9", AUTHORITY.certificate, ADMIN, "nestor:admin")
"""As the operator writes it."""
NESTED: Object = json.loads(TEXT)


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


META = {"name": "x", "namespace": "team-a"}


def secret(content: object) -> Object:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"metadata": META, "data": {"kubeconfig": encode(text.encode())}}


def changed(path: str, value: object) -> Object:
    """The operator's kubeconfig with one field set; numbers are places in lists."""
    result = copy.deepcopy(NESTED)
    *way, last = path.split("/")
    here: Any = result
    for part in way:
        here = here[int(part) if part.isdigit() else part]
    here[int(last) if last.isdigit() else last] = value
    return result


def test_the_kubeconfig_of_a_secret() -> None:
    assert kubeconfigs.read_secret(secret(NESTED)) == NESTED


def test_names_are_ours_whatever_the_secret_calls_them() -> None:
    found = changed("users/0/name", "work")
    found["clusters"][0]["name"] = found["contexts"][0]["name"] = found["current-context"] = "../work"
    assert kubeconfigs.read_secret(secret(found)) == NESTED


@pytest.mark.parametrize(
    "found",
    [
        pytest.param({"metadata": META}, id="no data"),
        pytest.param({"metadata": META, "data": {"kubeconfig": "%"}}, id="not base64"),
        pytest.param({"metadata": META, "data": {"kubeconfig": encode(TEXT.encode()) + "\n"}}, id="base64 and a line break"),
        pytest.param({"metadata": META, "data": {"kubeconfig": encode(b"\xff\xfe")}}, id="not UTF-8"),
        pytest.param(secret("[1"), id="not JSON"),
        pytest.param(secret(yaml.safe_dump(NESTED)), id="YAML, with its aliases and tags"),
        pytest.param(secret({}), id="empty object"),
        pytest.param(secret([]), id="list"),
        pytest.param(secret("{}" + TEXT), id="two documents"),
        pytest.param(secret("[" * 20_000 + "]" * 20_000), id="too deep"),
        pytest.param(secret("9" * 20_000), id="too many digits"),
        pytest.param(secret(changed("preferences", "x" * SIZE_LIMIT)), id="too large"),
    ],
)
def test_secrets_without_a_kubeconfig(found: Object) -> None:
    with pytest.raises(Failure, match="has no kubeconfig"):
        kubeconfigs.read_secret(found)


CLUSTER, USER, CONTEXT = "clusters/0/cluster", "users/0/user", "contexts/0/context"


FOREIGN = {
    # Every field of client-go's clientcmd/api/v1 that Nestor does not write.
    "": "preferences extensions",
    f"{CLUSTER}/": "insecure-skip-tls-verify certificate-authority proxy-url disable-compression extensions",
    f"{USER}/": "client-certificate client-key token tokenFile as as-uid as-groups as-user-extra username password auth-provider"
    " exec extensions",
    f"{CONTEXT}/": "namespace extensions",
}
MISPLACED = ["exec", "clusters/0/server", "users/0/exec", "contexts/0/user", f"{USER}/Exec", f"{USER}/token-file"]
"""In another place, and in another spelling."""


@pytest.mark.parametrize("value", [True, None, {"command": "sh"}])
@pytest.mark.parametrize("path", [place + key for place, keys in FOREIGN.items() for key in keys.split()] + MISPLACED)
def test_any_other_field_is_named_and_nothing_is_used(path: str, value: object) -> None:
    with pytest.raises(Failure) as raised:
        kubeconfigs.read_secret(secret(changed(path, value)))
    field = path.replace("/0", "[0]").replace("/", ".")
    message = f"Secret 'x' in namespace 'team-a' was tampered with: Nestor never writes `{field}`. Nothing in it was used"
    assert raised.value.message == message
    assert "`kubectl delete secret x -n team-a`, and the operator creates it again" in raised.value.hint


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        ("clusters", [*NESTED["clusters"], *NESTED["clusters"]], "`clusters` must have exactly one entry"),
        ("users", [], "`users` must have exactly one entry"),
        ("users", [{"name": "a", "user": {}}, {"name": "b", "user": {"exec": {}}}], "`users` must have exactly one entry"),
        ("contexts", {"0": {}}, "`contexts` must have exactly one entry"),
        ("contexts", ["nested"], "`contexts` must have exactly one entry"),
        ("users/0", {"name": "u"}, "`users[0].user` is missing"),
        (CLUSTER, "https://evil.test", "`clusters[0].cluster` is missing"),
        (USER, {}, "`users[0].user.client-certificate-data` must be certificates"),
        (f"{CLUSTER}/tls-server-name", "", "`clusters[0].cluster.tls-server-name` must be a host name"),
        (f"{CLUSTER}/tls-server-name", None, "`clusters[0].cluster.tls-server-name` must be a host name"),
        (f"{CLUSTER}/tls-server-name", "a\nb", "`clusters[0].cluster.tls-server-name` must be a host name"),
        (f"{CLUSTER}/tls-server-name", "a" * 300, "`clusters[0].cluster.tls-server-name` must be a host name"),
    ],
)
def test_what_is_not_of_the_right_form_is_named(path: str, value: object, what: str) -> None:
    with pytest.raises(Failure) as raised:
        kubeconfigs.read_secret(secret(changed(path, value)))
    assert f"was tampered with: {what}" in raised.value.message


WRONG_SERVERS = """
    http://10.43.0.9 HTTPS://10.43.0.9 10.43.0.9 https:// https:///etc https://user@10.43.0.9 https://user:password@10.43.0.9
    https://10.43.0.9/api/../.. https://10.43.0.9//evil.test https://10.43.0.9/proxy https://10.43.0.9?a=b https://10.43.0.9#a
    https://10.43.0.9\\@evil.test https://10.43.0.9:0 https://10.43.0.9:65536 https://10.43.0.9:４４３ https://10.43.0.9:
    https://[fe80::1%eth0] https://[::::] https://[10.43.0.9] https://-option file:///etc/passwd unix:///var/run/docker.sock
"""


@pytest.mark.parametrize(
    "server", [*WRONG_SERVERS.split(), "https://10.43.0.9\n", " https://10.43.0.9", "https://a b", None, 1, ["https://10.43.0.9"]]
)
def test_servers_that_are_refused(server: object) -> None:
    with pytest.raises(Failure, match=r"`clusters\[0\].cluster.server` must be https://HOST"):
        kubeconfigs.read_secret(secret(changed(f"{CLUSTER}/server", server)))


@pytest.mark.parametrize(
    "server",
    ["https://10.43.0.9", "https://10.43.0.9:6443", "https://10.43.0.9:443/", "https://[fd00::1]:6443", "https://a.b-c.test"],
)
def test_servers_that_are_taken(server: str) -> None:
    found = changed(f"{CLUSTER}/server", server)
    assert kubeconfigs.read_secret(secret(found)) == found


PEM_FIELDS = (f"{CLUSTER}/certificate-authority-data", f"{USER}/client-certificate-data", f"{USER}/client-key-data")
ENCRYPTED = ADMIN.key.replace(b"KEY-----\n", b"KEY-----\nProc-Type: 4,ENCRYPTED\n\n", 1)


@pytest.mark.parametrize("path", PEM_FIELDS)
@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        7,
        "/etc/passwd",
        "QQ==",
        encode(b"-----BEGIN CERTIFICATE-----"),
        encode(b"text\n" + AUTHORITY.certificate + ADMIN.key),
        encode(AUTHORITY.certificate + b"text"),
        encode(AUTHORITY.certificate)[:-1],
        encode(AUTHORITY.certificate) + "\n",
        encode(AUTHORITY.certificate).replace("L", "_", 1),
        encode(b"-----BEGIN TSS2 PRIVATE KEY-----\nQQ==\n-----END TSS2 PRIVATE KEY-----\n"),
        encode(ENCRYPTED),
        encode(ADMIN.key + ADMIN.key),
    ],
    ids=lambda value: str(value)[:20],
)
def test_certificates_and_keys_are_pem_in_strict_base64(path: str, value: object) -> None:
    with pytest.raises(Failure) as raised:
        kubeconfigs.read_secret(secret(changed(path, value)))
    what = "a private key" if path.endswith("client-key-data") else "certificates"
    field = path.replace("/0", "[0]").replace("/", ".")
    assert f"`{field}` must be {what} in PEM form, in base64" in raised.value.message


def test_an_authority_may_be_several_certificates_as_while_one_follows_another() -> None:
    found = changed(PEM_FIELDS[0], encode(AUTHORITY.certificate + certificates.new_authority("next", NOW).certificate))
    assert kubeconfigs.read_secret(secret(found)) == found


def test_the_servers_name_may_be_left_out() -> None:
    found = copy.deepcopy(NESTED)
    del found["clusters"][0]["cluster"]["tls-server-name"]
    assert kubeconfigs.read_secret(secret(found)) == found


MINE = """
apiVersion: v1
kind: Config
current-context: work
preferences: {}
clusters:
- name: work
  cluster:
    server: https://work.test
    extensions: [{name: seen, extension: {last: 2026-01-02T03:04:05Z, sure: "yes"}}]
users:
- {name: work, user: {token: "0123"}}
contexts:
- {name: work, context: {cluster: work, user: work, namespace: team-a}}
"""


@pytest.mark.parametrize(
    ("server", "expected"), [("https://10.43.0.9", ("10.43.0.9", 443)), ("https://[fd00::1]:6443", ("fd00::1", 6443))]
)
def test_addresses(server: str, expected: tuple[str, int]) -> None:
    assert kubeconfigs.server_address(kubeconfigs.with_server(NESTED, server)) == expected


def test_another_address_keeps_the_servers_name() -> None:
    unnamed = copy.deepcopy(NESTED)
    del unnamed["clusters"][0]["cluster"]["tls-server-name"]
    cluster = kubeconfigs.with_server(unnamed, "https://127.0.0.1:1")["clusters"][0]["cluster"]
    assert cluster["tls-server-name"] == "kubernetes"
    assert unnamed["clusters"][0]["cluster"]["server"] == "https://10.43.0.9"


def test_merging_adds_one_context_and_changes_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(MINE)
    named = kubeconfigs.renamed(NESTED, "nestor-team-a-shop")
    for _ in range(2):
        access._merge_into(path, named, use=False)
    merged = yaml.safe_load(path.read_text())
    assert [item["name"] for item in merged["contexts"]] == ["work", "nestor-team-a-shop"]
    assert merged["current-context"] == "work"
    assert merged["preferences"] == {}
    extension = merged["clusters"][0]["cluster"]["extensions"][0]["extension"]
    assert extension == {"last": "2026-01-02T03:04:05Z", "sure": "yes"}
    assert merged["users"][0]["user"]["token"] == "0123"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["config"]


def test_merging_makes_the_file_and_its_folder(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    access._merge_into(path, kubeconfigs.renamed(NESTED, "a"), use=False)
    assert yaml.safe_load(path.read_text())["current-context"] == "a"


def test_merging_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(MINE)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    access._merge_into(tmp_path / "link", kubeconfigs.renamed(NESTED, "a"), use=True)
    assert (tmp_path / "link").is_symlink()
    assert yaml.safe_load((tmp_path / "real").read_text())["current-context"] == "a"


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "just text"])
def test_what_is_no_kubeconfig_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(Failure, match="config"):
        access._merge_into(path, NESTED, use=False)
    assert path.read_text() == text
