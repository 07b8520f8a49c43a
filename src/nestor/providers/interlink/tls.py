"""TLS for a backend: its certificate authority, and our client certificate."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from nestor.providers.interlink.settings import Tls


def build_context(tls: Tls) -> ssl.SSLContext:
    """The TLS settings. Raises `ValueError` for texts that are no certificates or keys."""
    try:
        context = ssl.create_default_context(cadata=tls.ca or None)
        if tls.certificate:
            _load_certificate(context, tls)
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(f"`tls` must contain PEM certificates and their key: {error}") from None
    return context


def build_identity_context(tls: Tls) -> ssl.SSLContext:
    """The TLS settings for a token server: the system's authorities count, and the backend's; we show no certificate."""
    context = ssl.create_default_context()
    if tls.ca:
        context.load_verify_locations(cadata=tls.ca)
    return context


def _load_certificate(context: ssl.SSLContext, tls: Tls) -> None:
    """The `ssl` module reads keys from files only: one that nobody else can read, and that is gone at once."""
    with tempfile.TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.pem"
        chain.touch(mode=0o600)
        chain.write_text(f"{tls.certificate}\n{tls.key}\n")
        context.load_cert_chain(chain)
