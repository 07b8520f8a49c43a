"""Kubeconfigs of nested clusters, read, pointed elsewhere and merged without harm to the user's own."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.clients.cli import kubeconfigs
from nestor.clients.cli.commands import access
from nestor.clients.cli.exits import Failure

Object = dict[str, Any]
NESTED: Object = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "nested",
    "clusters": [{"name": "nested", "cluster": {"server": "https://10.43.0.9", "certificate-authority-data": "QQ=="}}],
    "users": [{"name": "nestor:admin", "user": {"client-key-data": "QQ=="}}],
    "contexts": [{"name": "nested", "context": {"cluster": "nested", "user": "nestor:admin"}}],
}
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
    cluster = kubeconfigs.with_server(NESTED, "https://127.0.0.1:1")["clusters"][0]["cluster"]
    assert cluster["tls-server-name"] == "kubernetes"
    assert NESTED["clusters"][0]["cluster"]["server"] == "https://10.43.0.9"


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
