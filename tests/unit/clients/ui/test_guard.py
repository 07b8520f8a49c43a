"""Who may talk to the page."""

from __future__ import annotations

import pytest

from nestor.clients.ui.guard import HEADERS, Gate, Refused, check_origin, list_hosts

HOST = "127.0.0.1:4711"
OURS = f"http://{HOST}"


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
        ("GET", OURS, "same-origin"),
        ("POST", OURS, None),
        ("POST", OURS, "same-origin"),
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
