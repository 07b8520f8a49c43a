"""How we show a backend who we are: a client certificate, and bearer tokens, which a caller keeps or client credentials get.

No connection leads to a cloud's metadata service, whatever DNS says of the backend's name.
"""

import asyncio
import base64
import errno
import socket
import ssl
import time
from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote_plus

import aiohttp
from pydantic import BaseModel, Field, ValidationError

from nestor.api.backend_kinds import Oidc
from nestor.api.contracts import addresses
from nestor.kube import ApiError
from nestor.kube.connection import Connection
from nestor.overflow.interlink.settings import Limits, Tls
from nestor.pods.providers.errors import Unauthorized, Unreachable, cut, hide

_ANSWER_LIMIT = 64 * 1024
# Servers need not say how long a token is good for.
_USUAL_SECONDS = 300
_MARGIN_SECONDS = 30


def build_context(tls: Tls) -> ssl.SSLContext:
    """Raises `ValueError` for texts that are no certificates or keys."""
    authority, certificate, key = (text.encode() or None for text in (tls.ca, tls.certificate, tls.key))
    try:
        return Connection("the backend", authority, certificate, key).build_tls()
    except ApiError as error:
        raise ValueError(f"`tls` must contain PEM certificates and their key: {error.message}") from None


def build_identity_context(tls: Tls) -> ssl.SSLContext:
    """For a token server: the system's authorities count, and the backend's; we show no certificate."""
    context = ssl.create_default_context()
    if tls.ca:
        context.load_verify_locations(cadata=tls.ca)
    return context


def open_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    """Called with the address itself, whether a name or the URL says it. Raises `PermissionError`."""
    family, kind, protocol, _, where = info
    if addresses.is_metadata(str(where[0])):
        raise PermissionError(errno.EPERM, f"{where[0]} is, or may be, a cloud's metadata service")
    return socket.socket(family, kind, protocol)


class GivenTokens:
    """Tokens that somebody else renews. `read` returns the current one."""

    def __init__(self, read: Callable[[], str] | None) -> None:
        self._read = read
        self._last = ""

    async def find(self, rejected: str | None = None) -> str | None:
        """None if there is no other than `rejected`, which the backend has just refused. Raises what `read` raises."""
        if self._read is None:
            return None
        self._last = self._read().strip()
        return self._last if self._last != rejected else None

    @property
    def secrets(self) -> list[str]:
        """What must never be shown to anyone."""
        return [self._last]


class _Grant(BaseModel):
    access_token: Annotated[str, Field(min_length=1, max_length=32 * 1024, pattern=r"^[\x21-\x7e]+$")]
    expires_in: Annotated[float, Field(ge=0)] = _USUAL_SECONDS


class OidcTokens:
    """Tokens by client credentials (RFC 6749, 4.4). Times are this machine's own: a server's clock does not matter."""

    def __init__(self, session: Callable[[], aiohttp.ClientSession], oidc: Oidc, secret: str, limits: Limits) -> None:
        self._session = session
        self._oidc = oidc
        self._secret = secret
        self._limits = limits
        self._token = ""
        self._renew_at = 0.0
        self._lock = asyncio.Lock()

    async def find(self, rejected: str | None = None) -> str | None:
        """Raises `Unauthorized` if the token server refuses, and `Unreachable` if it does not answer."""
        async with self._lock:
            if not self._token or self._token == rejected or time.monotonic() >= self._renew_at:
                await self._fetch()
        return self._token

    @property
    def secrets(self) -> list[str]:
        return [self._token, self._secret]

    async def _fetch(self) -> None:
        form = {"grant_type": "client_credentials", "scope": " ".join(self._oidc.scopes), "audience": self._oidc.audience}
        # Encoded like form fields before they are joined: RFC 6749, 2.3.1.
        pair = f"{quote_plus(self._oidc.client_id)}:{quote_plus(self._secret)}"
        status, content = await self._ask({key: value for key, value in form.items() if value}, pair)
        if status in (400, 401, 403):
            said = hide(cut(content.decode(errors="replace"), 200), self.secrets)
            raise Unauthorized(f"the token server refuses our credentials: {said}", status)
        try:
            grant = _Grant.model_validate_json(content if status == 200 else b"")
        except ValidationError:
            raise Unreachable(f"the token server answered {status} without a token") from None
        self._token = grant.access_token
        self._renew_at = time.monotonic() + max(grant.expires_in - _MARGIN_SECONDS, grant.expires_in / 2)

    async def _ask(self, form: dict[str, str], pair: str) -> tuple[int, bytes]:
        timeout = aiohttp.ClientTimeout(total=self._limits.call_seconds, sock_connect=self._limits.connect_seconds)
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        }
        call = self._session().post(self._oidc.token_url, data=form, headers=headers, timeout=timeout, allow_redirects=False)
        try:
            async with call as answer:
                return answer.status, await answer.content.read(_ANSWER_LIMIT)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Unreachable(f"the token server does not answer: {type(error).__name__}") from None
