"""An attack that nobody answers has met no wall: only a refusal is one."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.attack_script import ROUNDS, TRIES, is_refusal, judge_silence, try_all, try_one

LOOPBACK = "127.0.0.1"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket with room for one connection that nobody accepts."""
    with socket.create_server((LOOPBACK, 0), backlog=0) as made:
        yield made


@contextlib.contextmanager
def deaf(made: socket.socket) -> Iterator[None]:
    """With its room taken: whoever connects now gets no answer."""
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            taken = stack.enter_context(socket.socket())
            taken.setblocking(False)
            taken.connect_ex(made.getsockname())
        yield


def attempt(port: int, **changes: Any) -> dict[str, Any]:
    return {"id": "it", "kind": "tcp", "host": LOOPBACK, "port": port, **changes}


def test_who_answers_is_open(listening: socket.socket) -> None:
    assert try_one(attempt(listening.getsockname()[1])) == {"verdict": "open", "said": "connected"}


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_who_says_no_has_refused(kind: str) -> None:
    with socket.create_server((LOOPBACK, 0)) as made:
        port = made.getsockname()[1]
    seen = try_one(attempt(port, kind=kind))
    assert (seen["verdict"], "Connection refused" in seen["said"]) == ("refused", True)


def test_silence_is_neither(listening: socket.socket) -> None:
    with deaf(listening):
        assert try_all([attempt(listening.getsockname()[1])], 0.05)["it"]["verdict"] == "unknown"


@pytest.mark.parametrize("silences", range(len(ROUNDS)))
def test_who_is_silent_is_asked_again(listening: socket.socket, monkeypatch: pytest.MonkeyPatch, silences: int) -> None:
    left, connect = [TimeoutError("timed out")] * silences, socket.create_connection

    def connect_late(address: tuple[str, int], timeout: float) -> socket.socket:
        if left:
            raise left.pop()
        return connect(address, timeout)

    monkeypatch.setattr(socket, "create_connection", connect_late)
    assert try_all([attempt(listening.getsockname()[1])])["it"]["verdict"] == "open"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("OSError: [Errno 113] No route to host", True),
        ("wget: can't connect to remote host (10.7.0.9): No route to host", True),
        ("error trying to reach service: dial tcp 10.7.0.9:8080: connect: no route to host", True),
        ("ConnectionRefusedError: [Errno 111] Connection refused", True),
        ("OSError: [Errno 101] Network is unreachable", True),
        ("TimeoutError: timed out", False),
        ("dial tcp 10.7.0.9:8080: i/o timeout", False),
        ("context deadline exceeded", False),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", False),
        ("Terminated", False),
        ("", False),
    ],
)
def test_only_a_refusal_is_one(said: str, expected: bool) -> None:
    assert is_refusal(said) is expected


@pytest.mark.parametrize(
    ("controls", "does_drop", "expected"),
    [
        ([True] * TRIES, True, "refused"),
        ([True] * (TRIES - 1), True, "unknown"),
        ([True] * TRIES + [False], True, "unknown"),
        ([], True, "unknown"),
        ([True] * TRIES, False, "unknown"),
    ],
)
def test_silence_is_a_wall_where_walls_drop_and_the_control_connection_answers(
    controls: list[bool], does_drop: bool, expected: str
) -> None:
    assert judge_silence(controls, does_drop=does_drop) == expected
