"""Kubeconfigs and service accounts as kubectl understands them."""

import base64
import json
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api.objects import Object
from nestor.kube import Api, Unreachable, credentials
from nestor.kube.connection import Connection
from tests.unit.kube.test_kubeconfig import AUTHORITY, OWN


def encode(text: bytes) -> str:
    """Base64."""
    return base64.b64encode(text).decode()


def build(cluster: Object | None = None, account: Object | None = None, name: str = "a", **top: Any) -> Object:
    """A kubeconfig with one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.test:6443/", **(cluster or {})}}],
        "users": [{"name": name, "user": account or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"of-{name}"}}],
        **top,
    }


def said(connection: Connection) -> str | None:
    """The header `Authorization`."""
    return connection.authorization() if connection.authorization else None


async def test_a_token_file_is_read_for_each_request_and_relative_to_its_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    (tmp_path / "config").write_text(yaml.safe_dump(build(account={"tokenFile": "token", "token": "old"})))
    found = await credentials.connect_files(str(tmp_path / "config"))
    assert said(found) == "Bearer one"
    (tmp_path / "token").write_text("two")
    assert said(found) == "Bearer two"
    (tmp_path / "token").unlink()
    async with Api(found) as api:
        with pytest.raises(Unreachable, match=r"token for https://a.test:6443 cannot be read"):
            await api.auth_headers()


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        pytest.param({}, {"authority": None, "is_verified": True, "server_name": None, "proxy": None}, id="defaults"),
        pytest.param({"certificate-authority-data": encode(b"pem")}, {"authority": b"pem"}, id="authority"),
        pytest.param({"insecure-skip-tls-verify": True}, {"is_verified": False}, id="not verified"),
        pytest.param({"tls-server-name": "kubernetes"}, {"server_name": "kubernetes"}, id="another name"),
        pytest.param({"proxy-url": "http://proxy.test:3128"}, {"proxy": "http://proxy.test:3128"}, id="proxy"),
    ],
)
async def test_how_the_server_is_reached(cluster: Object, expected: Object) -> None:
    found = await credentials.connect_content(build(cluster))
    assert {key: getattr(found, key) for key in expected} == expected


async def test_a_context_may_name_a_user_that_is_not_there() -> None:
    assert said(await credentials.connect_content(build(users=None))) is None


async def test_files_are_relative_to_their_kubeconfig_and_must_exist(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    (tmp_path / "config").write_text(json.dumps(build({"certificate-authority": "ca.pem"}, {"client-certificate": "none.pem"})))
    with pytest.raises(Unreachable, match=r"`client-certificate`: there is no file .*/none\.pem"):
        await credentials.connect_files(str(tmp_path / "config"))
    (tmp_path / "none.pem").write_text("x")
    found = await credentials.connect_files(str(tmp_path / "config"))
    assert (found.authority, found.certificate) == (tmp_path / "ca.pem", tmp_path / "none.pem")
    with pytest.raises(Unreachable, match=r"certificates for https://a.test:6443 cannot be used"):
        Api(found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param([], "cannot be used", id="a list"),
        pytest.param({}, "it has no current context", id="nothing"),
        pytest.param(build() | {"current-context": "b"}, "no context 'b'; available: 'a'", id="no such context"),
        pytest.param(build(clusters=[]), "context 'a' of the kubeconfig cannot be used", id="no cluster"),
        pytest.param(build({"certificate-authority-data": "%"}), "cannot be used", id="not base64"),
        pytest.param(build(contexts=[{"context": {}}]), "cannot be used", id="a context without a name"),
    ],
)
async def test_what_is_no_kubeconfig(content: Any, message: str) -> None:
    with pytest.raises(Unreachable, match=message):
        await credentials.connect_content(content)


async def test_the_first_of_several_files_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").write_text(yaml.safe_dump(build(account={"token": "one"})))
    second = build(account={"token": "two"})
    second["clusters"] += build(name="b")["clusters"]
    second["contexts"] += [{"name": "b", "context": {"cluster": "b", "user": "a"}}]
    (tmp_path / "two").write_text(json.dumps(second))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'one'}:{tmp_path / 'missing'}:{tmp_path / 'two'}")
    assert credentials.list_contexts() == ["a", "b"]
    assert credentials.read_context().name == "a"
    assert credentials.read_context(context="b").namespace == "default"
    found = await credentials.connect_files(None, "b")
    assert (found.server, said(found)) == ("https://b.test:6443", "Bearer one")


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"no usable kubeconfig at .*/none: there is no such file"):
        credentials.read_files(str(tmp_path / "none"))


PLUGIN = """#!/usr/bin/env python3
import json
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "plugged"}}))
"""


def plugged(folder: Path) -> Object:
    """A kubeconfig whose token a program gives."""
    program = folder / "plugin"
    program.write_text(PLUGIN)
    program.chmod(0o755)
    return build(account={"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}})


async def test_a_plugin_gives_the_token(tmp_path: Path) -> None:
    assert said(await credentials.connect_content(plugged(tmp_path))) == "Bearer plugged"


async def test_without_the_library_a_plugin_is_an_error_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.aio", None)
    with pytest.raises(Unreachable, match=r"pip install 'nestor\[cli\]'"):
        await credentials.connect_content(plugged(tmp_path))


@pytest.mark.parametrize(("host", "server"), [("10.43.0.1", "https://10.43.0.1:443"), ("fd00::1", "https://[fd00::1]:443")])
def test_the_account_of_a_pod(tmp_path: Path, host: str, server: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(Unreachable, match="no service account"):
        credentials.connect_pod(environ, tmp_path)
    (tmp_path / "token").write_text("one")
    (tmp_path / "ca.crt").write_text("x")
    found = credentials.connect_pod(environ, tmp_path)
    assert (found.server, found.authority, said(found)) == (server, tmp_path / "ca.crt", "Bearer one")
    (tmp_path / "token").write_text("two")
    assert said(found) == "Bearer two"


def test_only_the_given_authorities_are_trusted_and_no_key_stays_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tls = Connection("https://a.test", AUTHORITY.certificate, OWN.certificate, OWN.key).build_tls()
    assert len(tls.get_ca_certs()) == 1
    assert not list(tmp_path.iterdir())
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert Connection("https://a.test", is_verified=False).build_tls().verify_mode is ssl.CERT_NONE
