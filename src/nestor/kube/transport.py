"""Requests to one API server, on `kubernetes.aio`'s transport: connections, credentials, time limits, and errors in our words."""

from __future__ import annotations

import asyncio
import copy
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration

from nestor.kube import errors
from nestor.kube.pages import Parse

JSON = "application/json"
STREAM_LIMIT = 500
"""Streams that one client may have open."""


class Transport:
    """Connections to one API server. Close it, or use it as an async context manager.

    Every call may raise `nestor.kube.errors.ApiError` or one of its subclasses; nothing here retries.
    """

    def __init__(self, configuration: Configuration, *, timeout: float = 30) -> None:
        configuration.retries = None
        configuration.connection_pool_maxsize = 200
        self._connect(configuration)
        self._open_streams = 0
        self._timeout = timeout
        self._answer_bytes: int | None = None
        self._has_metadata_only = False

    async def reconnect(self) -> None:
        """Read the certificate anew, and show it on new connections. The old ones end when no request can be under way in them;
        until then, this waits.
        """
        client, streams = self._client, self._streams
        self._connect(client.configuration)
        try:
            await asyncio.sleep(self._timeout)
        finally:
            await streams.close()
            await client.close()

    def _connect(self, configuration: Configuration) -> None:
        self._client = ApiClient(configuration)
        # The same settings, but connections of its own, made when they are needed.
        self._streams = copy.copy(self._client.rest_client)
        self._streams.maxsize = STREAM_LIMIT

    async def close(self) -> None:
        """Give the connections back; the client is unusable afterwards."""
        await self._streams.close()
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def host(self) -> str:
        """The server's base URL, as `https://10.0.0.1:6443`."""
        return str(self._client.configuration.host)

    @property
    def server_name(self) -> str:
        """The name that the server's certificate must have."""
        return str(self._client.configuration.tls_server_name or urlsplit(self.host).hostname or "")

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The TLS settings for this server, for streams that bypass HTTP."""
        context: ssl.SSLContext = self._client.rest_client.ssl_context
        return context

    def with_metadata_only(self) -> Self:
        """The same client, which lists and watches nothing but the metadata of objects, and transfers no more. Their `apiVersion`
        and `kind` are those of that form.
        """
        found = copy.copy(self)
        found._has_metadata_only = True
        return found

    async def auth_headers(self) -> dict[str, str]:
        """The current authorization headers (empty with client certificates)."""
        headers: dict[str, str] = {}
        await self._client.update_params_for_auth(headers, [], ["BearerToken"], "/", "GET", None)
        return {key.title(): value for key, value in headers.items()}

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
        async with self._answer(self._client.rest_client, method, _target(path, query), body, content_type, limit) as response:
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
            async with self._answer(self._streams, "GET", _target(path, query), None, JSON, 0) as response:
                yield response
        finally:
            self._open_streams -= 1

    @asynccontextmanager
    async def _answer(
        self, client: Any, method: str, target: str, body: Any, content_type: str, seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        what = f"{method} {target.partition('?')[0]}"
        accept = _find_form(target) if self._has_metadata_only else JSON
        headers = {"Accept": accept, "Content-Type": content_type, **await self.auth_headers()}
        total = aiohttp.ClientTimeout(total=seconds or None, sock_connect=10)
        try:
            answer = await client.request(method, self.host + target, headers=headers, body=body, _request_timeout=total)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.Unreachable(f"{what}: {error or type(error).__name__}") from error
        response: aiohttp.ClientResponse = answer.response
        try:
            if response.status >= 300:
                raise errors.from_response(response.status, await self._read(response))
            yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            raise errors.Unreachable(f"{what}: {error or type(error).__name__}") from error
        finally:
            # Not `release()`: an unread watch must not go back to the pool.
            response.close() if not response.content.at_eof() else response.release()

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
        """The whole answer. Raises `Unreachable` if it is longer than any that is read, `TooLong` if longer than `most` bytes."""
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
            raise errors.Unreachable(f"{self.host} answers more than {self._answer_bytes} bytes")


def distrust(configuration: Configuration, token: Callable[[], str] | None) -> None:
    """Let nobody send us elsewhere; read the bearer token for each request."""
    redirects = aiohttp.TraceConfig()
    redirects.on_request_redirect.append(_refuse_redirect)
    configuration.trace_configs = [redirects]
    if token is not None:
        configuration.refresh_api_key_hook = _with_token(token)


async def _refuse_redirect(*_: object) -> None:
    raise aiohttp.ClientError("the server wants to send us elsewhere")


def _with_token(read: Callable[[], str]) -> Callable[[Configuration], None]:
    def refresh(configuration: Configuration) -> None:
        configuration.api_key["BearerToken"] = f"Bearer {read()}"

    return refresh


def _find_form(target: str) -> str:
    what = "PartialObjectMetadata" if "watch=true" in target else "PartialObjectMetadataList"
    return f"{JSON};as={what};g=meta.k8s.io;v=v1"


def _target(path: str, query: dict[str, str] | None) -> str:
    return path + ("?" + urlencode(query) if query else "")
