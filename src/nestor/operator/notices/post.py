"""One POST of a notice: limited in time, without redirects, and never to an address of the node or the cloud."""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import socket
import ssl
from collections.abc import Callable, Mapping

import aiohttp

from nestor.contracts import addresses
from nestor.values import dataclass

REFUSED = frozenset({400, 410, 413, 415, 422})
"""Answers by which a server says that it will never take this notice."""
HEADERS = {"User-Agent": "nestor-operator", "Accept": "*/*", "Accept-Encoding": "identity"}
SAID_BYTES = 1024
"""How much is read of an answer that is no success; of others, nothing."""

Explain = Callable[[str], str | None]


@dataclass(frozen=True)
class Request:
    """What is sent, and where."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    token: str = ""
    ca: str = ""
    """PEM; empty: the system's certificate authorities."""
    timeout_seconds: float = 10


class Undelivered(Exception):
    """The sink did not take it. The text is for users: it tells neither the sink's address nor what it said."""

    def __init__(self, problem: str, *, details: str = "", is_final: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.details = details
        """More, for the operator's log."""
        self.is_final = is_final
        """Whether trying again would be useless."""


def explain_refusal(address: str) -> str | None:
    """Why notices are not sent to this address."""
    return addresses.explain_refusal(address, own="the operator")


async def post(request: Request, explain: Explain = explain_refusal) -> None:
    """Send it once; returns when the sink has accepted it. Raises `Undelivered`."""
    seconds = request.timeout_seconds
    try:
        context = await asyncio.to_thread(_build_tls, request.ca) if request.url.startswith("https:") else False
        async with asyncio.timeout(seconds):
            await _send(request, context, explain)
    except TimeoutError:
        raise Undelivered(f"it does not answer within {seconds:g} s") from None
    except aiohttp.ClientConnectorDNSError as error:
        raise Undelivered("its name cannot be resolved", details=str(error)) from error
    except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
        raise Undelivered("its certificate is not trusted, or it does not speak TLS", details=str(error)) from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _explain_failure(error) from error


async def _send(request: Request, context: ssl.SSLContext | bool, explain: Explain) -> None:
    def connect(info: aiohttp.AddrInfoType) -> socket.socket:
        """Called with the address itself, whether a name or the URL says it."""
        family, kind, protocol, _, where = info
        if reason := explain(str(where[0])):
            raise PermissionError(errno.EPERM, f"{where[0]} {reason}")
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(ssl=context, socket_factory=connect, use_dns_cache=False, force_close=True)
    headers = {**HEADERS, **request.headers} | ({"Authorization": f"Bearer {request.token}"} if request.token else {})
    async with (
        aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session,
        session.post(request.url, data=request.body, headers=headers, allow_redirects=False) as answer,
    ):
        if 200 <= answer.status < 300:
            return
        said = " ".join((await answer.content.read(SAID_BYTES)).decode(errors="replace").split())
        raise Undelivered(f"it answers with status {answer.status}", details=said, is_final=answer.status in REFUSED)


def _explain_failure(error: Exception) -> Undelivered:
    """In words that give no address away."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    if number == errno.EPERM:
        return Undelivered("its address is not one that notices are sent to", details=str(error))
    known = f": {os.strerror(number)}" if number and number in errno.errorcode else ""
    return Undelivered(f"it cannot be reached{known}", details=str(error) or type(error).__name__)


@functools.lru_cache(maxsize=64)
def _build_tls(ca: str) -> ssl.SSLContext:
    """Raises `Undelivered` for a text that is no certificate."""
    try:
        return ssl.create_default_context(cadata=ca or None)
    except (ssl.SSLError, ValueError, TypeError) as error:
        raise Undelivered("its certificate authorities cannot be read", details=str(error)) from error
