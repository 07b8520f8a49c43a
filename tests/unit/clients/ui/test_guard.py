"""Who may talk to the page."""

import os
import socket
from pathlib import Path

import pytest

from nestor.clients.ui import guard
from nestor.clients.ui.guard import HEADERS, Gate, Refused, check_origin, find_owner, is_own, list_hosts

HOST = "127.0.0.1:4711"
ORIGIN = f"http://{HOST}"


def test_a_token_works_once() -> None:
    gate = Gate()
    token = gate.token
    assert not gate.knows(None)
    assert not gate.knows("")
    with pytest.raises(Refused):
        gate.exchange(token[:-1] + "é")
    cookie = gate.exchange(token)
    assert gate.knows(cookie)
    assert not gate.knows(cookie + "x")
    for again in (token, ""):
        with pytest.raises(Refused):
            gate.exchange(again)


@pytest.mark.parametrize(
    ("method", "origin", "site"),
    [
        ("GET", None, None),
        ("GET", None, "none"),
        ("GET", None, "same-origin"),
        ("GET", ORIGIN, "same-origin"),
        ("POST", ORIGIN, None),
        ("POST", ORIGIN, "same-origin"),
        ("POST", None, "same-origin"),
    ],
)
def test_our_own_pages_may_ask(method: str, origin: str | None, site: str | None) -> None:
    check_origin(method, HOST, origin, site)


@pytest.mark.parametrize(
    ("method", "origin", "site"),
    [
        ("GET", None, "cross-site"),
        ("GET", None, "same-site"),  # another port of this machine
        ("GET", "http://evil.test", None),
        ("GET", "http://127.0.0.1:4712", None),
        ("POST", "http://evil.test", "cross-site"),
        ("POST", "http://localhost:4711", "same-site"),
        ("POST", "https://127.0.0.1:4711", None),
        ("POST", "null", None),
        ("POST", None, None),
        ("POST", None, "none"),
    ],
)
def test_other_sites_may_not(method: str, origin: str | None, site: str | None) -> None:
    with pytest.raises(Refused):
        check_origin(method, HOST, origin, site)


def test_only_loopback_is_an_address_of_the_page() -> None:
    assert list_hosts(4711) == {"127.0.0.1:4711", "localhost:4711"}


def test_the_policy_for_content_allows_nothing_inline_and_nobody_else() -> None:
    policy = dict(part.strip().partition(" ")[::2] for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy.pop("default-src") == "'none'"
    assert policy.pop("base-uri") == policy.pop("frame-ancestors") == "'none'"
    assert set(policy.values()) == {"'self'"}
    assert not [name for name in HEADERS if name.startswith("Access-Control")]


HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
THEIRS = "   1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0 20 4 30 10 -1"
OURS = "   2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000   501        0 12346 1 0 20 4 30 10 -1"
MAPPED = THEIRS.replace("0100007F", "0000000000000000FFFF00000100007F").replace(" 1000 ", " 1001 ")
ADDRESS, PEER = ("127.0.0.1", 8080), ("127.0.0.1", 54321)


def test_the_owner_is_whose_end_is_the_other_one() -> None:
    assert find_owner([HEAD, OURS, THEIRS], ADDRESS, PEER) == 1000
    assert find_owner([HEAD, MAPPED], ADDRESS, PEER) == 1001
    assert find_owner([HEAD, OURS], ADDRESS, PEER) is None
    assert find_owner([THEIRS], ("127.0.0.1", 8081), PEER) is None


@pytest.mark.parametrize("state", ["06", "05", "08"])
def test_a_connection_that_is_not_open_has_no_owner(state: str) -> None:
    assert find_owner([THEIRS.replace(" 01 ", f" {state} ")], ADDRESS, PEER) is None


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux has the table")
def test_a_real_connection_is_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        ours, theirs = server.getsockname(), client.getsockname()
        assert is_own(ours, theirs)
        monkeypatch.setattr(os, "getuid", lambda: 4711)
        monkeypatch.setattr(guard, "_ROOT", 4712)
        assert not is_own(ours, theirs)
    assert not is_own(ours, theirs), "it is closed"


@pytest.mark.parametrize(("user", "root", "is_ours"), [(1000, 0, True), (0, 1000, True), (0, 0, False), (1001, 0, False)])
def test_only_ones_own_programs_and_roots_are_answered(
    user: int, root: int, is_ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "tcp"
    table.write_text("\n".join([HEAD, OURS, THEIRS]))
    monkeypatch.setattr(guard, "_TABLES", (table, tmp_path / "tcp6"))
    monkeypatch.setattr(os, "getuid", lambda: user)
    monkeypatch.setattr(guard, "_ROOT", root)
    assert is_own((*ADDRESS, 0, 0), (*PEER, 0, 0)) is is_ours


def test_where_the_system_keeps_no_table_everybody_is_answered_and_where_it_cannot_be_read_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_TABLES", (tmp_path / "tcp",))
    assert is_own(ADDRESS, PEER)
    (tmp_path / "tcp").mkdir()
    assert not is_own(ADDRESS, PEER)
