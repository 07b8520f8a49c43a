"""Connections to a backend: never to a cloud's metadata service, whatever DNS says of the backend's name."""

from __future__ import annotations

import errno
import socket

import aiohttp

from nestor.contracts import addresses


def open_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    """Called with the address itself, whether a name or the URL says it. Raises `PermissionError`."""
    family, kind, protocol, _, where = info
    if addresses.is_metadata(str(where[0])):
        raise PermissionError(errno.EPERM, f"{where[0]} is, or may be, a cloud's metadata service")
    return socket.socket(family, kind, protocol)
