"""Who may call the kubelet API: the nested API server, by its client certificate."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from nestor.contracts.cluster import CLIENT_AUTHORITY, KUBELET_CERTIFICATE, KUBELET_KEY

CALLER = "system:apiserver"


def build_tls(access: Path) -> ssl.SSLContext:
    """TLS of the kubelet API: our certificate from the server authority, callers' from the client authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(access / KUBELET_CERTIFICATE, access / KUBELET_KEY)
    context.load_verify_locations(access / CLIENT_AUTHORITY)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["http/1.1"])
    return context


def is_caller(certificate: dict[str, Any] | None) -> bool:
    """True for the API server's certificate: other clients of the same authority are users of the cluster, not its servers."""
    subject = (certificate or {}).get("subject", ())
    return any(pair == ("commonName", CALLER) for entry in subject for pair in entry)
