"""Settings come from the environment that the operator sets."""

from pathlib import Path

import pytest

from nestor.syncer import settings


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAMESPACE", "ns")
    monkeypatch.setenv("NESTOR_CLUSTER", "hello")
    found = settings.parse([])
    assert (found.namespace, found.cluster, found.health_port, found.kubelet_port) == ("ns", "hello", 8081, 10250)
    assert found.nested_kubeconfig == "/etc/nestor/access/syncer.kubeconfig"


def test_flags_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAMESPACE", "ns")
    found = settings.parse(["--namespace=other", "--cluster=c", "--access=/x", "--health-port=1", "--services-port=2"])
    assert (found.namespace, found.access, found.health_port, found.services_port) == ("other", Path("/x"), 1, 2)
    assert found.metrics_port == 8085


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    monkeypatch.delenv("NESTOR_CLUSTER", raising=False)
    with pytest.raises(SystemExit):
        settings.parse([])
    assert "POD_NAMESPACE and NESTOR_CLUSTER must be set" in capsys.readouterr().err
