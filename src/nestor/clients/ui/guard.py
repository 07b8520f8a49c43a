"""Who may talk to the page: one browser that brought the printed link, from this machine, and no other site through it.

Any site can have a browser send requests to loopback addresses, and can have its own name resolve to one (DNS rebinding). So the
`Host` must be ours, what changes something must come from our own pages, and every request must have the cookie. Browsers send
cookies to all ports of a host, and the links that they open are in the list of processes: so the program at the other end must
be this user's own.
"""

import asyncio
import hmac
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from aiohttp import web

COOKIE = "nestor-ui"
SAFE_METHODS = ("GET", "HEAD")
OWN_SITES = ("same-origin", "none")
"""What `Sec-Fetch-Site` says of our own pages, and of addresses that the user has typed."""
START = "/start"
ASSETS = "/static/"
"""What is the same for everybody."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send forms as from nowhere
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
"""The state of a connection that both ends have open. Others are listed without their owner."""
_ROOT = 0
"""May do everything anyway; it also relays what comes from outside a virtual machine."""
Address = tuple[str, int]


class Refused(Exception):
    """A request that is not answered. `status` is the HTTP status; the message says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Gate:
    """The token of the printed link, which works once, and the cookies that it was exchanged for."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._cookies: set[str] = set()

    @property
    def token(self) -> str:
        """What the link has; empty once it was used."""
        return self._token

    def exchange(self, token: str) -> str:
        """A cookie for the token. Raises `Refused`."""
        if not self._token or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise Refused(403, "This link has been used already, or is not the one that was printed.")
        self._token = ""
        self._cookies.add(cookie := secrets.token_urlsafe(32))
        return cookie

    def knows(self, cookie: str | None) -> bool:
        return cookie is not None and any(hmac.compare_digest(cookie.encode(), known.encode()) for known in self._cookies)


def list_hosts(port: int) -> frozenset[str]:
    """What `Host` may say: the loopback address, and the one name that nobody else can have."""
    return frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})


def check_origin(method: str, host: str, origin: str | None, site: str | None, *, scheme: str = "http") -> None:
    """Raises `Refused` for what another site's page has sent."""
    if site is not None and site not in OWN_SITES:
        raise Refused(403, "Another site may not use this page.")
    if origin is not None and origin != f"{scheme}://{host}":
        raise Refused(403, "Another site may not use this page.")
    if method not in SAFE_METHODS and origin is None and site != "same-origin":
        raise Refused(403, "Your browser does not say which page sent this.")


def check_request(request: web.Request, hosts: frozenset[str], *, scheme: str = "http", is_linked: bool = False) -> None:
    """Raises `Refused` for another host's name, and for what another site has sent. `is_linked`: other sites may lead here."""
    if request.headers.get("Host", "") not in hosts:
        raise Refused(421, "This is not the address of this page.")
    site = None if is_linked and request.method in SAFE_METHODS else request.headers.get("Sec-Fetch-Site")
    check_origin(request.method, request.host, request.headers.get("Origin"), site, scheme=scheme)


def build_middleware(gate: Gate, hosts: frozenset[str]) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """Checks every request before anything else reads it."""
    known: WeakKeyDictionary[asyncio.BaseTransport, bool] = WeakKeyDictionary()

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if (transport := request.transport) is None:
            raise Refused(400, "The connection is closed.")
        if transport not in known:
            known[transport] = is_own(transport.get_extra_info("sockname"), transport.get_extra_info("peername"))
        if not known[transport]:
            raise Refused(403, "This page is another user's.")
        # A link that was clicked in a mail or a chat comes from another site; its token is what counts.
        check_request(request, hosts, is_linked=request.path == START)
        is_open = request.path == START or request.path.startswith(ASSETS)
        if not is_open and not gate.knows(request.cookies.get(COOKIE)):
            raise Refused(401, "This page opens only by the link that `nestor ui` printed.")
        return await handler(request)

    return check


def sign_in(request: web.Request, gate: Gate) -> web.Response:
    """Exchange the link's token for the cookie. Our own page asks for the next one: a `SameSite=Strict` cookie does not
    go with what another site began, as a redirect after a click in a mail would be.
    """
    cookie = gate.exchange(request.query.get("token", ""))
    page = '<!doctype html><html lang="en"><title>Nestor</title><meta http-equiv="refresh" content="0;url=/"><a href="/">Open</a>'
    response = web.Response(text=page, content_type="text/html")
    response.set_cookie(COOKIE, cookie, path="/", httponly=True, samesite="Strict")
    return response


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
