"""`Api`: one connection to one API server, with the few verbs that Nestor uses, on `kubernetes.aio`'s transport."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from nestor.kube import errors, pages
from nestor.kube.kinds import POD, Kind
from nestor.kube.pace import Pace
from nestor.kube.pages import Parse, Trim
from nestor.objects import Object

Patch = Literal["merge", "json", "strategic", "apply"]

_JSON = "application/json"
_PATCH_TYPES: dict[Patch, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


_OF_SERVER = ("host", "ssl_ca_cert", "ca_cert_data", "verify_ssl", "disable_strict_ssl_verification", "tls_server_name", "proxy")
"""Settings of a connection that say where the server is, and how it is known."""

STREAM_LIMIT = 500
"""Streams that one client may have open."""


class Api:
    """A client of one API server. Close it, or use it as an async context manager.

    Every call may raise `nestor.kube.errors.ApiError` or one of its subclasses; nothing here retries. With a `pace`, `create`,
    `replace` and `patch` may also raise `RetryLater`, without having asked the server.
    """

    def __init__(self, configuration: Configuration, *, manager: str = "nestor", timeout: float = 30) -> None:
        configuration.retries = None
        configuration.connection_pool_maxsize = 200
        self._connect(configuration)
        self._open_streams = 0
        self._manager = manager
        self._timeout = timeout
        self._answer_bytes: int | None = None
        self.pace: Pace | None = None
        self._trims: dict[Kind, Trim] = {}

    @classmethod
    async def connect(cls, kubeconfig: str | None = None, *, manager: str = "nestor", timeout: float = 30) -> Self:
        """Connect by `kubeconfig` when given, else by the pod's service account, else by the user's own kubeconfig."""
        configuration = Configuration()
        if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
            config.load_incluster_config(client_configuration=configuration)
        else:
            await config.load_kube_config(config_file=kubeconfig, client_configuration=configuration, persist_config=False)
        return cls(configuration, manager=manager, timeout=timeout)

    @classmethod
    async def from_kubeconfig(cls, content: Object, *, manager: str = "nestor", timeout: float = 30) -> Self:
        """Connect by a kubeconfig that is already in memory."""
        configuration = Configuration()
        await config.load_kube_config_from_dict(content, client_configuration=configuration)
        return cls(configuration, manager=manager, timeout=timeout)

    @classmethod
    async def foreign(
        cls, content: Object, *, manager: str, timeout: float, answer_bytes: int, token: Callable[[], str] | None = None
    ) -> Self:
        """Connect to a server that is not trusted, by a kubeconfig that was checked: it may not send us elsewhere, and longer
        answers are not read.

        `token` reads the bearer token for each request. It must not wait, and may raise `ApiError`.
        """
        configuration = Configuration()
        await config.load_kube_config_from_dict(content, client_configuration=configuration)
        redirects = aiohttp.TraceConfig()
        redirects.on_request_redirect.append(_refuse_redirect)
        configuration.trace_configs = [redirects]
        if token is not None:
            configuration.refresh_api_key_hook = _with_token(token)
        api = cls(configuration, manager=manager, timeout=timeout)
        api._answer_bytes = answer_bytes
        return api

    def with_certificate(self, file: Path) -> Api:
        """A client of the same server that shows the certificate in `file`, which holds its key as well, and nothing of ours."""
        own, configuration = self._client.configuration, Configuration()
        for name in _OF_SERVER:
            setattr(configuration, name, getattr(own, name))
        configuration.cert_file = configuration.key_file = str(file)
        return Api(configuration, manager=self._manager, timeout=self._timeout)

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

    def trim(self, kind: Kind, trim: Trim) -> None:
        """Have all objects of a kind trimmed as soon as they are parsed, because those that users write may be huge."""
        self._trims[kind] = trim

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
        content_type: str = _JSON,
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
            async with self._answer(self._streams, "GET", _target(path, query), None, _JSON, 0) as response:
                yield response
        finally:
            self._open_streams -= 1

    @asynccontextmanager
    async def _answer(
        self, client: Any, method: str, target: str, body: Any, content_type: str, seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        what = f"{method} {target.partition('?')[0]}"
        headers = {"Accept": "application/json", "Content-Type": content_type, **await self.auth_headers()}
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
        content_type: str = _JSON,
        timeout: float | None = None,
        parse: Parse = json.loads,
    ) -> Any:
        """One request, its answer parsed as JSON, or text when it is not JSON."""
        async with self.open(method, path, query, body, content_type=content_type, timeout=timeout) as response:
            content = await self._read(response)
        try:
            return parse(content)
        except ValueError:
            return content.decode(errors="replace")

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole answer. Raises `Unreachable` if it is longer than any that is read."""
        if self._answer_bytes is None:
            return await response.read()
        found = bytearray()
        async for chunk in response.content.iter_any():
            found += chunk
            self._check_length(found)
        return bytes(found)

    def _check_length(self, found: bytes | bytearray) -> None:
        if self._answer_bytes is not None and len(found) > self._answer_bytes:
            raise errors.Unreachable(f"{self.host} answers more than {self._answer_bytes} bytes")

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object. Raises `NotFound`."""
        return self._trim(kind, await self.request("GET", kind.path(namespace, name)))

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """One object, or None."""
        try:
            return await self.get(kind, name, namespace)
        except errors.NotFound:
            return None

    async def list_trimmed(self, kind: Kind, trim: Trim, *, fields: str = "") -> list[Object]:
        """All objects of the cluster, of each only what `trim` keeps. They may be many, but none should be huge."""
        query = {"fieldSelector": fields} if fields else {}
        return (await pages.read(self.request, kind, None, query, trim, pages.SIZE)).items

    async def list(self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = "") -> list[Object]:
        """All objects that match the label and field selectors, each with `apiVersion` and `kind` filled in."""
        query = {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}
        return (await pages.read(self.request, kind, namespace, query, self._trims.get(kind))).items

    async def create(
        self, kind: Kind, body: Object, *, subresource: str | None = None, name: str | None = None, strict: bool = False
    ) -> Object:
        """Create `body` (its namespace is read from its metadata). Raises `Conflict` when it exists.

        `strict`: fields that the server does not know raise `Invalid`, which names them; otherwise they are dropped.
        """
        self._check_pace(body)
        namespace = body.get("metadata", {}).get("namespace")
        path = kind.path(namespace, name, subresource)
        result: Object = await self.request("POST", path, self._query(strict=strict), body)
        return result

    async def replace(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Replace the object; with a `resourceVersion` in it, only if nobody changed it since (else `Conflict`)."""
        self._check_pace(body)
        meta = body["metadata"]
        path = kind.path(meta.get("namespace"), meta["name"], subresource)
        result: Object = await self.request("PUT", path, {"fieldManager": self._manager}, body)
        return result

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        """Server-side apply, ours winning over other managers; creates what is missing."""
        meta = body["metadata"]
        path = kind.path(meta.get("namespace"), meta["name"], subresource)
        query = {"fieldManager": self._manager, "force": "true"}
        full = {"apiVersion": kind.api_version, "kind": kind.name, **body}
        how = _PATCH_TYPES["apply"]
        return self._trim(kind, await self.request("PATCH", path, query, full, content_type=how))

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Any,
        *,
        subresource: str | None = None,
        how: Patch = "merge",
        strict: bool = False,
    ) -> Object:
        """Patch one object. JSON patches may carry `test` operations (failed ones raise `Invalid`). `strict`: see `create`."""
        self._check_pace(patch)
        path = kind.path(namespace, name, subresource)
        query = self._query(strict=strict)
        return self._trim(kind, await self.request("PATCH", path, query, patch, content_type=_PATCH_TYPES[how]))

    def _trim(self, kind: Kind, found: Object) -> Object:
        trim = self._trims.get(kind)
        return trim(found) if trim else found

    def _query(self, *, strict: bool) -> dict[str, str]:
        return {"fieldManager": self._manager} | ({"fieldValidation": "Strict"} if strict else {})

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> bool:
        """Ask for deletion; False when it was gone already. `uid` guards against a successor of the same name, and `version`
        beside it against a change since then.
        """
        options: Object = {"propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid} | ({"resourceVersion": version} if version else {})
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self.request("DELETE", kind.path(namespace, name), None, options)
        except errors.NotFound:
            return False
        except errors.Conflict:
            if uid:  # the precondition: another object has this name by now, ours is gone
                return False
            raise
        return True

    def _check_pace(self, body: Any) -> None:
        if self.pace is not None:
            self.pace.check(body)

    async def read_log(self, name: str, namespace: str, container: str, *, limit: int) -> bytes:
        """What a pod's container has said so far: its first `limit` bytes at most."""
        query = {"container": container, "limitBytes": str(limit)}
        found = bytearray()
        async with self.open("GET", POD.path(namespace, name, "log"), query) as response:
            async for chunk in response.content.iter_any():
                found += chunk
                if len(found) >= limit:
                    break
        return bytes(found[:limit])

    async def watch(self, kind: Kind, namespace: str | None, query: dict[str, str]) -> AsyncIterator[Object]:
        """Raw watch events until the server ends the stream. Raises `Gone` when the version is too old."""
        async with self.open("GET", kind.path(namespace), {**query, "watch": "true"}, timeout=0) as response:
            pending = b""
            async for chunk in response.content.iter_any():
                *lines, pending = (pending + chunk).split(b"\n")
                self._check_length(pending)
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise errors.from_response(status.get("code", 500), json.dumps(status).encode())
                    yield event
                await asyncio.sleep(0)


async def _refuse_redirect(*_: object) -> None:
    raise aiohttp.ClientError("the server wants to send us elsewhere")


def _with_token(read: Callable[[], str]) -> Callable[[Configuration], None]:
    def refresh(configuration: Configuration) -> None:
        configuration.api_key["BearerToken"] = f"Bearer {read()}"

    return refresh


def _target(path: str, query: dict[str, str] | None) -> str:
    return path + ("?" + urlencode(query) if query else "")
