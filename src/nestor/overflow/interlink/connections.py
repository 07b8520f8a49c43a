"""Connections to a backend: its certificate authority, and our client certificate.

None leads to a cloud's metadata service, whatever DNS says of the backend's name.
"""

from __future__ import annotations

import errno
import socket
import ssl
import tempfile
from pathlib import Path

import aiohttp

from nestor.api.contracts import addresses
from nestor.overflow.interlink.settings import Tls


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


def open_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    """Called with the address itself, whether a name or the URL says it. Raises `PermissionError`."""
    family, kind, protocol, _, where = info
    if addresses.is_metadata(str(where[0])):
        raise PermissionError(errno.EPERM, f"{where[0]} is, or may be, a cloud's metadata service")
    return socket.socket(family, kind, protocol)
