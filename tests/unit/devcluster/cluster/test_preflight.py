"""What is said about a machine that cannot run the cluster."""

import socket
from pathlib import Path

import pytest

from devcluster.cluster import network, preflight
from devcluster.cluster.paths import Paths


@pytest.fixture(autouse=True)
def no_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "run", lambda _: "default via 192.0.2.1 dev eth0\n10.42.7.0/24 dev tun0 scope link\n")


def test_every_reason_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setenv("NESTOR_HTTP_PORT", str(taken.getsockname()[1]))
        with pytest.raises(preflight.Unsuitable) as refused:
            preflight.check(Paths(tmp_path))
    text = str(refused.value)
    assert "needs root" in text
    assert "not built: kube, kubectl" in text
    assert "10.42.7.0/24 dev tun0" in text
    assert "set NESTOR_HTTP_PORT to a free one" in text
    assert "CLUSTER=current" in text


def test_our_own_routes_are_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "run", lambda _: "10.42.0.0/16 via 10.40.0.2 dev nestor0\n10.40.0.0/30 dev nestor0\n")
    assert network.conflicts() == []
