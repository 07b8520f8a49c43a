"""Runs in pods: makes all connection attempts of a JSON list, and prints what became of each. Standard library only.

Usage: python3 - [FILE]   (the list is in FILE, or on standard input)

An attempt has one of three verdicts:

- `open`: what it is for has answered.
- `refused`: somebody has said no. The embedded cluster's walls answer each packet at once ("No route to host"); a port at which
  nobody listens answers "Connection refused", and a name server says that there is no such name.
- `unknown`: anything else, silence above all. A packet may be lost and a machine too busy to answer; so it is tried again, with
  less at a time, and what stays unknown is no proof of a wall.

Other network plugins drop packets, so their walls are silent. There, silence counts as a wall only when it is repeated, and each
time a control connection answers: one by the same pod, at the same moment, to what must be open. See `judge_silence`.
"""

import contextlib
import json
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SECONDS = 3.0
"""For one attempt. What is open or refused answers within milliseconds."""
ROUNDS = (100, 8, 8, 8)
"""How many attempts are made at a time: all, and then those that are unknown."""
TRIES = 3
"""For a datagram, within those seconds."""
TYPES = {"A": 1, "PTR": 12, "SRV": 33}
SERVER_FAILURE = 2
REFUSALS = ("no route to host", "connection refused", "network is unreachable", "network unreachable")
"""What programs say, in small letters, about a connection that somebody has refused."""


class NoSuchRecord(Exception):
    """A name server's answer without what was asked for."""


def is_refusal(said: str) -> bool:
    """Whether a program's output is about a refused connection; silence is none."""
    return any(text in said.lower() for text in REFUSALS)


def judge_silence(controls: list[bool], *, does_drop: bool) -> str:
    """The verdict on an attempt that nobody has answered, repeated as often as there are `controls`: whether the control
    connection of each repetition was open. `does_drop`: whether the walls of this cluster are silent.
    """
    return "refused" if does_drop and len(controls) >= TRIES and all(controls) else "unknown"


def try_one(attempt: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """The verdict on an attempt that is made once, and what was seen."""
    try:
        return {"verdict": "open", "said": _DOERS[attempt["kind"]](attempt, seconds)}
    except NoSuchRecord as error:
        return {"verdict": "refused", "said": str(error)}
    except (OSError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        return {"verdict": "refused" if is_refusal(said) else "unknown", "said": said}


def try_all(attempts: list[dict[str, Any]], seconds: float = SECONDS) -> dict[str, dict[str, Any]]:
    """The verdicts by the attempts' ids."""
    found: dict[str, dict[str, Any]] = {}
    left = attempts
    for width in ROUNDS:
        with ThreadPoolExecutor(width) as pool:
            found |= zip([item["id"] for item in left], pool.map(lambda item: try_one(item, seconds), left), strict=True)
        left = [item for item in left if found[item["id"]]["verdict"] == "unknown"]
    return found


def _tcp(attempt: dict[str, Any], seconds: float) -> str:
    with socket.create_connection((attempt["host"], attempt["port"]), timeout=seconds):
        return "connected"


def _udp(attempt: dict[str, Any], seconds: float) -> str:
    return _send(attempt["host"], attempt["port"], b"ping", seconds).decode()


def _send(host: str, port: int, data: bytes, seconds: float) -> bytes:
    """The answer to a datagram, which is sent again as resolvers do: one may be lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(seconds / TRIES)
        made.connect((host, port))
        for _ in range(TRIES - 1):
            with contextlib.suppress(TimeoutError):
                made.send(data)
                return made.recv(4096)
        made.send(data)
        return made.recv(4096)


def _dns(attempt: dict[str, Any], seconds: float) -> str:
    """Fails unless there is an answer that gives something: an address (not only `but`), a name."""
    query = (
        struct.pack(">HHHHHH", 4242, 0x0100, 1, 0, 0, 0)
        + _encode(attempt["name"])
        + struct.pack(">HH", TYPES[attempt["type"]], 1)
    )
    server = attempt.get("host") or _find_server()
    answer = (_ask_tcp if attempt.get("tcp") else _ask_udp)(server, query, seconds)
    code, count = answer[3] & 15, struct.unpack(">H", answer[6:8])[0]
    if code == SERVER_FAILURE:
        raise ValueError("server failure")
    if code or not count:
        raise NoSuchRecord(f"response code {code}, {count} answers")
    but = attempt.get("but")
    if but and socket.inet_aton(but) not in answer:
        raise NoSuchRecord(f"{count} answers, but not {but}")
    return f"{count} answers"


def _ask_udp(server: str, query: bytes, seconds: float) -> bytes:
    return _send(server, 53, query, seconds)


def _ask_tcp(server: str, query: bytes, seconds: float) -> bytes:
    with socket.create_connection((server, 53), timeout=seconds) as made:
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
    """Reads the attempts, and prints what became of them."""
    with open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin as file:
        attempts = json.load(file)
    print(json.dumps(try_all(attempts)))


if __name__ == "__main__":
    main()
