from __future__ import annotations

from pathlib import Path

import pytest

from devcluster.demo.tools import DemoError, Tools, drop_client_log


def test_the_clients_log_is_dropped_from_what_a_tool_says() -> None:
    text = 'I1121 07:32:27.682013   28168 reflector.go:664] "Warning: watch ended"\nError: not ready\ncontext deadline exceeded\n'
    assert drop_client_log(text) == "Error: not ready\ncontext deadline exceeded"


def test_a_command_that_fails_is_told_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$KUBECONFIG"\n[ "$1" = get ] || { echo no >&2; exit 1; }\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("NESTOR_CACHE", str(tmp_path / "empty"))
    assert Tools(Path("/k")).kubectl("get", "naj") == "/k\n"
    with pytest.raises(DemoError, match=r"`kubectl apply -f x` failed:\nno$"):
        Tools(Path("/k")).kubectl("apply", "-f", "x")
    with pytest.raises(DemoError, match="helm is not installed"):
        Tools(Path("/k")).helm("version")
