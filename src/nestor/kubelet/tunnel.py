"""A stream to the host API server: the request's head is rewritten, everything after it passes untouched."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from urllib.parse import urlsplit

import h11

from nestor.kube import Api, Unreachable
from nestor.kube.errors import from_response
from nestor.kubelet import http

_CHUNK = 65536
_CONNECT_SECONDS = 10
_HEAD_LIMIT = 64 * 1024
# What belongs to the upgrade; neither the caller's credentials nor its idea of the host get through.
_PASSED = ("connection", "upgrade", "accept", "origin", "user-agent", "x-stream-protocol-version")
_PASSED_PREFIX = "sec-websocket-"

Translate = Callable[[str], str]


async def tunnel(
    api: Api, request: http.Request, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, translate: Translate
) -> None:
    """Pass an upgrade request to `target` of the host API server, then all bytes both ways until one side ends."""
    upstream_reader, upstream_writer = await _connect(api)
    try:
        upstream_writer.write(await _head(api, request, target) + request.rest)
        await upstream_writer.drain()
        head, rest = await _read_head(upstream_reader)
        if _status(head) != 101:
            await _refuse(head, rest, upstream_reader, writer, translate)
            return
        writer.write(head + rest)
        await writer.drain()
        await pipe_both(reader, writer, upstream_reader, upstream_writer)
    finally:
        await close(upstream_writer)


async def pipe_both(
    left_reader: asyncio.StreamReader,
    left_writer: asyncio.StreamWriter,
    right_reader: asyncio.StreamReader,
    right_writer: asyncio.StreamWriter,
) -> None:
    """Copy both ways. The end of either side ends both: neither SPDY nor WebSocket goes on with half a connection."""
    tasks = [asyncio.create_task(_pipe(left_reader, right_writer)), asyncio.create_task(_pipe(right_reader, left_writer))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def close(writer: asyncio.StreamWriter) -> None:
    """Close, and do not mind how the other side takes it."""
    writer.close()
    with contextlib.suppress(Exception):
        async with asyncio.timeout(2):
            await writer.wait_closed()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


async def _connect(api: Api) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = urlsplit(api.host)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await asyncio.open_connection(url.hostname, url.port or 443, ssl=api.ssl_context, server_hostname=url.hostname)
    except (OSError, TimeoutError) as error:
        raise Unreachable(f"host API server: {error or type(error).__name__}") from error


async def _head(api: Api, request: http.Request, target: str) -> bytes:
    headers = [(name, value) for name, value in request.headers if name in _PASSED or name.startswith(_PASSED_PREFIX)]
    headers += [("Host", urlsplit(api.host).netloc), *(await api.auth_headers()).items()]
    if request.method == "POST":
        headers.append(("Content-Length", "0"))
    event = h11.Request(method=request.method, target=target, headers=headers)
    return h11.Connection(h11.CLIENT).send(event) or b""


async def _read_head(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The answer's head with its empty line, and what came with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await reader.read(_CHUNK)
        if not piece or len(data) > _HEAD_LIMIT:
            raise Unreachable("host API server: no answer to the upgrade")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _status(head: bytes) -> int:
    parts = head.split(b" ", 2)
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0


async def _refuse(
    head: bytes, rest: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, translate: Translate
) -> None:
    """The host says no: as plain text, as a kubelet would, and in the tenant's words."""
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
    await http.respond(writer, _status(head) or 502, translate(from_response(_status(head), body).message))
