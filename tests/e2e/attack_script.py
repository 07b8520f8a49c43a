"""Runs in pods: makes all connection attempts of a JSON list at once, and prints what became of each. Standard library only.

Usage: python3 - [FILE]   (the list is in FILE, or on standard input)
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SECONDS = 3.0
"""For one attempt. What is open answers within milliseconds."""
TRIES = 3
"""For a datagram, within those seconds."""
TYPES = {"A": 1, "PTR": 12, "SRV": 33}


def try_one(attempt: dict[str, Any]) -> dict[str, Any]:
    """Whether the attempt succeeds, and what was seen."""
    try:
        return {"open": True, "said": _DOERS[attempt["kind"]](attempt)}
    except (OSError, ValueError) as error:
        return {"open": False, "said": f"{type(error).__name__}: {error}"}


def _tcp(attempt: dict[str, Any]) -> str:
    with socket.create_connection((attempt["host"], attempt["port"]), timeout=SECONDS):
        return "connected"


def _udp(attempt: dict[str, Any]) -> str:
    return _send(attempt["host"], attempt["port"], b"ping").decode()


def _send(host: str, port: int, data: bytes) -> bytes:
    """The answer to a datagram, which is sent again as resolvers do: one may be lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(SECONDS / TRIES)
        made.connect((host, port))
        for _ in range(TRIES - 1):
            with contextlib.suppress(TimeoutError):
                made.send(data)
                return made.recv(4096)
        made.send(data)
        return made.recv(4096)


def _dns(attempt: dict[str, Any]) -> str:
    """Fails unless there is an answer that gives something: an address (not only `but`), a name."""
    query = (
        struct.pack(">HHHHHH", 4242, 0x0100, 1, 0, 0, 0)
        + _encode(attempt["name"])
        + struct.pack(">HH", TYPES[attempt["type"]], 1)
    )
    server = attempt.get("host") or _find_server()
    answer = (_ask_tcp if attempt.get("tcp") else _ask_udp)(server, query)
    code, count = answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
    if code or not count:
        raise ValueError(f"response code {code}, {count} answers")
    but = attempt.get("but")
    if but and socket.inet_aton(but) not in answer:
        raise ValueError(f"{count} answers, but not {but}")
    return f"{count} answers"


def _ask_udp(server: str, query: bytes) -> bytes:
    return _send(server, 53, query)


def _ask_tcp(server: str, query: bytes) -> bytes:
    with socket.create_connection((server, 53), timeout=SECONDS) as made:
        made.sendall(struct.pack(">H", len(query)) + query)
        with made.makefile("rb") as file:
            (length,) = struct.unpack(">H", file.read(2))
            return file.read(length)


def _encode(name: str) -> bytes:
    return b"".join(bytes([len(part)]) + part.encode() for part in name.rstrip(".").split(".")) + b"\0"


def _find_server() -> str:
    with open("/etc/resolv.conf") as file:
        return next(line.split()[1] for line in file if line.startswith("nameserver"))


_DOERS = {"tcp": _tcp, "udp": _udp, "dns": _dns}


def main() -> None:
    """All attempts at once, so that those that wait for an answer do so together."""
    with open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin as file:
        attempts = json.load(file)
    with ThreadPoolExecutor(100) as pool:
        found = dict(zip([item["id"] for item in attempts], pool.map(try_one, attempts), strict=True))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
