"""Kubeconfigs with their certificates inside."""

from __future__ import annotations

import base64
import json
from typing import Any

from nestor.cluster.certificates import Pair

TLS_SERVER_NAME = "kubernetes"
"""A name that every K3s serving certificate has, whatever address it is reached by."""


def build_kubeconfig(server: str, authority: bytes, client: Pair, user: str) -> str:
    """A kubeconfig for one user of one cluster; JSON, which every YAML reader takes, and quick to read."""
    content: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "nested",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": _base64(authority),
                    "tls-server-name": TLS_SERVER_NAME,
                },
            }
        ],
        "users": [
            {
                "name": user,
                "user": {"client-certificate-data": _base64(client.certificate), "client-key-data": _base64(client.key)},
            }
        ],
        "contexts": [{"name": "nested", "context": {"cluster": "nested", "user": user}}],
        "current-context": "nested",
    }
    return json.dumps(content, indent=1) + "\n"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
