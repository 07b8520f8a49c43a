"""Requests to one API server: connections, time limits, and errors in our words."""

import asyncio
import copy
import json
import math
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies

import aiohttp

from nestor.kube import errors
from nestor.kube.connection import Connection
from nestor.kube.pages import Parse

JSON = "application/json"
UNANSWERED = "<error>"
"""The code of a request that no server has answered, as client-go has it in its metrics."""
STREAM_LIMIT = 1024
_CALLS = 200
"""Requests and watches that may be under way at a time."""
_EVENT_BYTES = 2**21
"""What is buffered of an answer. aiohttp stops reading at twice as much, and a line of a watch may be a whole object."""
_STREAM_BYTES = 2**16


class _Pools(dict[int, aiohttp.ClientSession]):
    """Sessions, by how many requests each may have under way. Copies of a client share them."""

    is_closed = False

    async def close(self) -> None:
        """All, and for good: one that is opened afterwards would stay open."""
        self.is_closed = True
        await asyncio.gather(*(pool.close() for pool in self.values()))


class Transport:
    """Connections to one API server. Close it, or use it as an async context manager.

    Every call may raise `nestor.kube.errors.ApiError` or one of its subclasses; nothing here retries.
    """

    def __init__(self, connection: Connection, *, timeout: float = 30) -> None:
        self._connection = connection
        self._uses_proxies = bool(getproxies())
        self._connect()
        self._open_streams = 0
        self._timeout = timeout
        self.requests: Counter[tuple[str, str]] = Counter()
        """So many have ended, or, of watches, begun: by method, which is `WATCH` for watches, and by the answer's status."""
        self._answer_bytes: int | None = None
        self._has_metadata_only = False
        self.fence: Callable[[], float] | None = None
        """For how many seconds writes may be sent and answered. Raises what their caller is to get if they may not."""

    async def reconnect(self) -> None:
        """Read the certificate anew, and show it on new connections. The old ones end when no request can be under way in them;
        until then, this waits.
        """
        old = self._pools
        self._connect()
        try:
            await asyncio.sleep(self._timeout)
        finally:
            await old.close()

    def _connect(self) -> None:
        self._tls = self._connection.build_tls()
        # Opened when they are needed: a session belongs to the loop that it is made in.
        self._pools = _Pools()

    def _pool(self, most: int = _CALLS, buffer: int = _EVENT_BYTES) -> aiohttp.ClientSession:
        """The session for requests of which `most` may be under way at a time. Raises `Unreachable` if they are closed."""
        if self._pools.is_closed:
            raise errors.Unreachable(f"the client of {self.host} is closed")
        if most not in self._pools:
            connector = aiohttp.TCPConnector(limit=most, ssl=self._tls)
            # Not always: aiohttp asks another thread about proxies, for every request.
            self._pools[most] = aiohttp.ClientSession(connector=connector, trust_env=self._uses_proxies, read_bufsize=buffer)
        return self._pools[most]

    async def close(self) -> None:
        await self._pools.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def host(self) -> str:
        """The server's base URL, as `https://10.0.0.1:6443`."""
        return self._connection.server

    @property
    def server_name(self) -> str:
        """The name that the server's certificate must have."""
        return self._connection.server_name or urlsplit(self.host).hostname or ""

    @property
    def ssl_context(self) -> ssl.SSLContext:
        return self._tls

    def with_metadata_only(self) -> Self:
        """The same client, which lists and watches nothing but the metadata of objects, and transfers no more. Their `apiVersion`
        and `kind` are those of that form.
        """
        found = copy.copy(self)
        found._has_metadata_only = True
        return found

    def with_limit(self, answer_bytes: int) -> Self:
        """The same client for what may be answered by somebody whom the server trusts and we do not: longer answers are not read,
        and nobody sends us elsewhere.
        """
        found = copy.copy(self)
        found._answer_bytes = answer_bytes
        return found

    async def auth_headers(self) -> dict[str, str]:
        """The current authorization headers (empty with client certificates)."""
        if self._connection.authorization is None:
            return {}
        try:
            return {"Authorization": self._connection.authorization()}
        except OSError as error:
            raise errors.Unreachable(f"the token for {self.host} cannot be read: {error}") from error

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: Any = None,
        *,
        content_type: str = JSON,
        timeout: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One request, its answer not yet read. `timeout` is seconds in all; 0 means none (watches)."""
        limit = self._timeout if timeout is None else timeout
        async with self._answer(self._pool(), method, _target(path, query), body, content_type, limit) as response:
            yield response

    @asynccontextmanager
    async def stream(self, path: str, query: dict[str, str] | None = None) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer without end, as a followed log, on a connection that no other request waits for.

        Raises `ApiError` with status 429 when `STREAM_LIMIT` streams of this client are open.
        """
        if self._open_streams >= STREAM_LIMIT:
            raise errors.ApiError(429, "TooManyRequests", f"{STREAM_LIMIT} streams are open already")
        self._open_streams += 1
        try:
            pool = self._pool(STREAM_LIMIT, _STREAM_BYTES)
            async with self._answer(pool, "GET", _target(path, query), None, JSON, 0) as response:
                yield response
        finally:
            self._open_streams -= 1

    @asynccontextmanager
    async def _answer(
        self, pool: aiohttp.ClientSession, method: str, target: str, body: Any, content_type: str, seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        what = f"{method} {target.partition('?')[0]}"
        accept = _find_form(target) if self._has_metadata_only else JSON
        own = (await self.auth_headers()).items()
        headers = [("Accept", accept), ("Content-Type", content_type), *own, *self._connection.person]
        if self.fence is not None and method != "GET":
            seconds = min(seconds or math.inf, self.fence())
        call = pool.request(
            method,
            self.host + target,
            headers=headers,
            data=None if body is None else json.dumps(body),
            timeout=aiohttp.ClientTimeout(total=seconds or None, sock_connect=10),
            server_hostname=self._connection.server_name,
            proxy=self._connection.proxy,
            allow_redirects=self._answer_bytes is None,
        )
        try:
            response = await call
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self.count(method, target, UNANSWERED)
            raise errors.Unreachable(f"{what}: {str(error) or type(error).__name__}") from error
        self.count(method, target, str(response.status))
        try:
            if response.status in range(300, 400) and self._answer_bytes is not None:
                raise errors.Unreachable(f"{what}: the server wants to send us elsewhere")
            if response.status >= 300:
                raise errors.from_response(response.status, await self._read(response))
            yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            raise errors.Unreachable(f"{what}: {str(error) or type(error).__name__}") from error
        finally:
            # Not `release()`: an unread watch must not go back to the pool.
            response.close() if not response.content.at_eof() else response.release()

    def count(self, method: str, target: str, code: str) -> None:
        """One more request, perhaps of another client that has our credentials."""
        self.requests["WATCH" if "watch=true" in target else method, code] += 1

    async def request(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: Any = None,
        *,
        content_type: str = JSON,
        timeout: float | None = None,
        parse: Parse = json.loads,
        most: int | None = None,
    ) -> Any:
        """One request, its answer parsed as JSON, or text when it is not JSON. `most`: raise `TooLong` if it has more bytes."""
        async with self.open(method, path, query, body, content_type=content_type, timeout=timeout) as response:
            content = await self._read(response, most)
        try:
            return parse(content)
        except ValueError:
            return content.decode(errors="replace")

    async def _read(self, response: aiohttp.ClientResponse, most: int | None = None) -> bytes:
        """The whole answer. Raises `TooLong` if it is longer than any that is read, or longer than `most` bytes."""
        if self._answer_bytes is None and most is None:
            return await response.read()
        found = bytearray()
        async for chunk in response.content.iter_any():
            found += chunk
            self._check_length(found)
            if most is not None and len(found) > most:
                raise errors.TooLong(f"the answer has more than {most} bytes")
        return bytes(found)

    def _check_length(self, found: bytes | bytearray) -> None:
        if self._answer_bytes is not None and len(found) > self._answer_bytes:
            raise errors.TooLong(f"{self.host} answers more than {self._answer_bytes} bytes")


def _find_form(target: str) -> str:
    what = "PartialObjectMetadata" if "watch=true" in target else "PartialObjectMetadataList"
    return f"{JSON};as={what};g=meta.k8s.io;v=v1"


def _target(path: str, query: dict[str, str] | None) -> str:
    return path + ("?" + urlencode(query) if query else "")
