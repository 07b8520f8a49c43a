"""How the nested API server is told to ask about new Services."""

from __future__ import annotations

import base64
from pathlib import Path

from nestor.syncer.cluster import addresses, webhook


def test_it_is_never_in_the_way() -> None:
    (hook,) = webhook.build_configuration(8085, b"certificate")["webhooks"]
    assert hook["failurePolicy"] == "Ignore"
    assert hook["sideEffects"] == "NoneOnDryRun"
    assert hook["timeoutSeconds"] > addresses.PATIENCE_SECONDS


def test_it_stays_on_loopback_and_accepts_one_certificate(tmp_path: Path) -> None:
    (tmp_path / "kubelet.crt").write_bytes(b"certificate")
    (hook,) = webhook.build_configuration(8085, webhook.read_certificate(tmp_path))["webhooks"]
    assert hook["clientConfig"]["url"] == "https://127.0.0.1:8085/services"
    assert base64.b64decode(hook["clientConfig"]["caBundle"]) == b"certificate"
    assert "service" not in hook["clientConfig"]
