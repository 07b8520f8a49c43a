"""Whose program is at the other end of a connection from this machine, as far as the system says.

Browsers send cookies to all ports of a host, and the links that they open are in the list of processes. Both are of no use to
other users of the machine if only this user's own programs are answered.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
"""The state of a connection that both ends have open. Others are listed without their owner."""
_ROOT = 0
"""May do everything anyway; it also relays what comes from outside a virtual machine."""

Address = tuple[str, int]


def is_own(ours: Any, theirs: Any) -> bool:
    """Whether the program that opened this connection to us is our own user's. True where the system keeps no such table."""
    if not _TABLES[0].exists():
        return True
    try:
        lines = [line for table in _TABLES if table.exists() for line in table.read_text().splitlines()]
    except OSError:
        return False
    return find_owner(lines, ours[:2], theirs[:2]) in (os.getuid(), _ROOT)


def find_owner(lines: Iterable[str], ours: Address, theirs: Address) -> int | None:
    """User ID of who has opened the connection from `theirs` to `ours`, by Linux's table; None if it is not open. Pure."""
    wanted = [(write(theirs), write(ours)), (write(theirs, mapped=True), write(ours, mapped=True))]
    for line in lines:
        parts = line.split()
        if len(parts) > 7 and parts[3] == _ESTABLISHED and (parts[1], parts[2]) in wanted:
            return int(parts[7])
    return None


def write(address: Address, *, mapped: bool = False) -> str:
    """An IPv4 address as the table has it; `mapped`: as an IPv6 address."""
    number = int.from_bytes(socket.inet_aton(address[0]), "little")
    before = f"{0:016X}{0xFFFF0000:08X}" if mapped else ""
    return f"{before}{number:08X}:{address[1]:04X}"
