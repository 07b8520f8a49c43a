"""Logs and streams through an API server: the request is rewritten, everything after the response passes through untouched."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlencode, urlsplit

import h11

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Unreachable, kinds
from nestor.kube.errors import from_response
from nestor.kube.serving.connections import close
from nestor.pods.providers.base import Call, Connection, Options

_CHUNK = 65536
_CONNECT_SECONDS = 10
_HEAD_LIMIT = 64 * 1024
# The headers of an upgrade. The caller's credentials and its `Host` must not get through.
_PASSED = ("connection", "upgrade", "accept", "origin", "user-agent", "x-stream-protocol-version")
_PASSED_PREFIX = "sec-websocket-"


class PodStreams:
    """`where`: the namespace and name that a pod has at the API server; `in_our_words` turns its errors into providers'."""

    def __init__(
        self,
        api: Api,
        where: Callable[[Object], tuple[str, str]],
        in_our_words: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        self._api = api
        self._where = where
        self._in_our_words = in_our_words

    @contextlib.asynccontextmanager
    async def open_log(self, pod: Object, options: Options) -> AsyncIterator[AsyncIterator[bytes]]:
        with self._in_our_words():
            async with self._api.stream(self._build_path(pod, "log", options)) as response:
                yield response.content.iter_any()

    @contextlib.asynccontextmanager
    async def open_stream(self, pod: Object, call: Call) -> AsyncIterator[Connection]:
        with self._in_our_words():
            async with connect(self._api, call, self._build_path(pod, call.subresource, call.options)) as connection:
                yield connection

    def _build_path(self, pod: Object, subresource: str, options: Options) -> str:
        path = kinds.POD.path(*self._where(pod), subresource)
        return path + ("?" + urlencode(options) if options else "")


@contextlib.asynccontextmanager
async def connect(api: Api, call: Call, target: str) -> AsyncIterator[Connection]:
    """An upgraded connection to path `target` of the API server. Raises `ApiError` if it refuses or does not answer."""
    reader, writer = await _open(api)
    try:
        writer.write(await _head(api, call, target) + call.sent)
        await writer.drain()
        head, rest = await _read_head(reader)
        if _status(head) != 101:
            raise await _refusal(head, rest, reader)
        yield Connection(head + rest, reader, writer)
    finally:
        await close(writer)


async def _open(api: Api) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = urlsplit(api.host)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await asyncio.open_connection(
                url.hostname, url.port or 443, ssl=api.ssl_context, server_hostname=api.server_name
            )
    except (OSError, TimeoutError) as error:
        raise Unreachable(f"API server: {str(error) or type(error).__name__}") from error


async def _head(api: Api, call: Call, target: str) -> bytes:
    headers = [(name, value) for name, value in call.headers if name in _PASSED or name.startswith(_PASSED_PREFIX)]
    headers += [("Host", urlsplit(api.host).netloc), *(await api.auth_headers()).items()]
    if call.method == "POST":
        headers.append(("Content-Length", "0"))
    event = h11.Request(method=call.method, target=urlsplit(api.host).path + target, headers=headers)
    return h11.Connection(h11.CLIENT).send(event) or b""


async def _read_head(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The response head with its empty line, and the bytes that came with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await reader.read(_CHUNK)
        if not piece or len(data) > _HEAD_LIMIT:
            raise Unreachable("API server: no response to the upgrade request")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _status(head: bytes) -> int:
    parts = head.split(b" ", 2)
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0


async def _refusal(head: bytes, rest: bytes, reader: asyncio.StreamReader) -> ApiError:
    """The error that the API server returned instead of an upgrade."""
    parser = h11.Connection(h11.CLIENT)
    parser.send(h11.Request(method="GET", target="/", headers=[("Host", "host")]))
    parser.send(h11.EndOfMessage())
    parser.receive_data(head + rest)
    body = b""
    while not isinstance(event := parser.next_event(), h11.EndOfMessage | h11.ConnectionClosed) and len(body) < _HEAD_LIMIT:
        if event is h11.NEED_DATA:
            parser.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
    return from_response(_status(head) or 502, body)
