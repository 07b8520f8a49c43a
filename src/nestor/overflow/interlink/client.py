"""Requests to a backend: limited in time and size, with credentials, and with errors in the words of `providers.base`."""

import asyncio
import html
import random
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import Literal

import aiohttp

from nestor.overflow.interlink import credentials
from nestor.overflow.interlink.credentials import GivenTokens, OidcTokens
from nestor.overflow.interlink.settings import Settings
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, ProviderError, Unauthorized, Unreachable, cut, hide

_SESSION_HEADER = "InterLink-Http-Session"
_ERROR_BYTES = 16 * 1024
_LONGEST_PAUSE_SECONDS = 5.0
_ABOUT_ACCESS = (405, 406, 407, 415, 421, 426, 431)
"""Statuses of 4xx that are not about the pod: what answers is something on the way, or another server."""
_SERVER_SAYS = re.compile(r"^HTTP InterLink session .{1,80}?: +call exit status: \d+\. Body: ")
"""What interLink's server puts before a plugin's words."""
_PLUGIN_SAYS = re.compile(r"^\w+: error: ", re.MULTILINE)
"""The words of Slurm's commands: the plugin passes them on with 504, which from a proxy means that nobody knows."""
_Purpose = Literal["question", "creation", "stream", "identity"]
_CONNECTIONS: dict[_Purpose, tuple[int, bool]] = {
    "question": (32, False),
    # What may not be repeated gets a connection of its own: an old one may have ended without our knowledge. There are more than
    # creations are ever under way: they wait for nobody.
    "creation": (32, True),
    # Apart, because users decide how many logs are followed, and for how long.
    "stream": (500, True),
    "identity": (100, False),
}
"""How many there may be at a time, and whether each is for one request only."""


class Lost(Unreachable):
    """The request may have reached the backend, but the answer did not reach us: nobody knows what has happened."""


class Excess(Lost):
    """The answer is larger than any that is read."""


class Client:
    """Talks to one backend. Close it when it is not needed any more."""

    def __init__(self, settings: Settings) -> None:
        self._settings, own = settings, settings.own
        self._limits = settings.limits
        self._tls = credentials.build_context(settings.tls) if own.url.startswith("https:") else True
        self._server_name = own.tls.server_name if own.tls else None
        self._base = own.url.rstrip("/")
        self._headers = {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            _SESSION_HEADER: f"nestor-{uuid.uuid4()}",
        }
        self._sessions: dict[_Purpose, aiohttp.ClientSession] = {}
        self._tokens: GivenTokens | OidcTokens = GivenTokens(settings.bearer)
        if own.oidc:
            session = partial(self._session, "identity")
            self._tokens = OidcTokens(session, own.oidc, settings.client_secret, settings.limits)

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    async def ask(self, method: str, path: str, body: str, *, room: int = 0) -> bytes:
        """The answer to a request that may be repeated without harm; it is, within the limit, until one succeeds.

        `room`: bytes that the answer may have beyond the usual limit. Raises `ProviderError`.
        """
        pause, failure = self._limits.pause_seconds, Unreachable(f"{self._base} does not answer")
        try:
            async with asyncio.timeout(self._limits.call_seconds):
                for attempt in range(self._limits.attempts):
                    if attempt:
                        await asyncio.sleep(min(pause, _LONGEST_PAUSE_SECONDS) * random.uniform(0.7, 1.3))
                        pause *= 2
                    try:
                        return await self._request(method, path, body, room=room, is_repeatable=True)
                    except Excess:
                        raise
                    except Unreachable as error:
                        failure = error
        except TimeoutError:
            failure = Unreachable(f"{self._base}{path} did not answer in time")
        raise failure

    async def send(self, method: str, path: str, body: str, *, seconds: float) -> bytes:
        """The answer to a request that must not be repeated. Raises `Lost` if its fate is unknown, or another `ProviderError`."""
        try:
            async with asyncio.timeout(seconds):
                return await self._request(method, path, body, is_repeatable=False)
        except TimeoutError:
            raise Lost(f"{self._base}{path} did not answer in time") from None

    @asynccontextmanager
    async def stream(self, path: str, body: str, *, idle_seconds: float | None) -> AsyncIterator[AsyncIterator[bytes]]:
        """The answer as it arrives; None as `idle_seconds` means that it may be silent for ever."""
        timeout = aiohttp.ClientTimeout(sock_connect=self._limits.connect_seconds, sock_read=idle_seconds)
        async with (
            self._open("stream", "GET", path, body, timeout) as answer,
            aclosing(self._read_stream(answer, path)) as pieces,
        ):
            yield pieces

    async def _read_stream(self, answer: aiohttp.ClientResponse, path: str) -> AsyncGenerator[bytes, None]:
        try:
            async for data in answer.content.iter_any():
                yield data
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"{self._base}{path} broke off: {type(error).__name__}") from None

    async def _request(self, method: str, path: str, body: str, *, is_repeatable: bool, room: int = 0) -> bytes:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect_seconds)
        async with self._open("question" if is_repeatable else "creation", method, path, body, timeout) as answer:
            limit, found = self._limits.answer_bytes + room, bytearray()
            async for data in answer.content.iter_any():
                found += data
                if len(found) > limit:
                    answer.close()
                    raise Excess(f"{self._base}{path} answered more than {limit} bytes")
            return bytes(found)

    @asynccontextmanager
    async def _open(
        self, purpose: _Purpose, method: str, path: str, body: str, timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer with status 2xx. A token that is refused is renewed once."""
        token = await self._tokens.find()
        for attempt in (1, 2):
            headers = self._headers | ({"Authorization": f"Bearer {token}"} if token else {})
            call = self._session(purpose).request(
                method,
                self._base + path,
                data=body.encode(),
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                server_hostname=self._server_name,
            )
            with self._in_our_words(path):
                async with call as answer:
                    fresh = await self._tokens.find(token) if answer.status == 401 and attempt == 1 else None
                    if not fresh:
                        if not 200 <= answer.status < 300:
                            raise await self._read_error(answer, path)
                        yield answer
                        return
            token = fresh

    def _session(self, purpose: _Purpose) -> aiohttp.ClientSession:
        if purpose not in self._sessions:
            tls = credentials.build_identity_context(self._settings.tls) if purpose == "identity" else self._tls
            limit, is_single = _CONNECTIONS[purpose]
            connector = aiohttp.TCPConnector(ssl=tls, limit=limit, force_close=is_single, socket_factory=credentials.open_socket)
            self._sessions[purpose] = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            )
        return self._sessions[purpose]

    @contextmanager
    def _in_our_words(self, path: str) -> Iterator[None]:
        try:
            yield
        except (aiohttp.ClientConnectorError, aiohttp.ClientSSLError, aiohttp.ConnectionTimeoutError) as error:
            raise Unreachable(f"{self._base} cannot be reached: {cut(str(error), 300)}") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            what = cut(str(error), 300) or type(error).__name__
            raise Lost(f"{self._base}{path} did not answer: {what}") from None

    async def _read_error(self, answer: aiohttp.ClientResponse, path: str) -> ProviderError:
        content = bytearray()
        async for data in answer.content.iter_any():
            content += data
            if len(content) > _ERROR_BYTES:
                break
        said, is_servers = _SERVER_SAYS.subn("", bytes(content[:_ERROR_BYTES]).decode(errors="replace"))
        if is_servers and path == "/pinglink":
            said = said.removesuffix("503")  # the server adds it
        text = cut(hide(html.unescape(said), self._tokens.secrets))
        if text and not text.isdecimal():
            return build_error(answer.status, text)
        words = f"{self._base}{path} answered status {answer.status}"
        # The server says no more where its plugin has ended, perhaps over this.
        return Lost(words) if (path, answer.status) == ("/create", 500) else build_error(answer.status, words)


def build_error(status: int, text: str) -> ProviderError:
    """What an answer other than 2xx means; `text` is what the backend says about it."""
    if status in (401, 403):
        return Unauthorized(f"the backend refuses our credentials: {text}", status)
    if status in (404, 410):
        return NotFound(text, status)
    if status in (408, 423, 425, 429):
        return NotYet(text, status)
    if status in _ABOUT_ACCESS:
        return Unreachable(text, 503)
    if 400 <= status < 500:
        return InvalidInput(text, status)
    if status in (502, 504) and not _PLUGIN_SAYS.search(text):
        return Lost(text, status)
    if status == 503 or status < 400:
        return Unreachable(text, 503)
    return ProviderError(text, status)
