"""Container logs: read from the host API server, passed on as they come."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

from nestor.kube import Api
from nestor.kubelet import http


async def stream_logs(
    api: Api, path: str, query: list[tuple[str, str]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer with the log until it ends, or until the caller hangs up: a followed log may be silent for days."""
    sending = asyncio.create_task(_send(api, path + "?" + urlencode(query), writer))
    hangup = asyncio.create_task(_wait_for_hangup(reader))
    try:
        await asyncio.wait([sending, hangup], return_when=asyncio.FIRST_COMPLETED)
    finally:
        hangup.cancel()
        sending.cancel()
        results = await asyncio.gather(sending, hangup, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]


async def _send(api: Api, target: str, writer: asyncio.StreamWriter) -> None:
    async with api.open("GET", target, timeout=0) as response:
        writer.write(http.stream_head())
        async for data in response.content.iter_any():
            writer.write(http.chunk(data))
            await writer.drain()
        writer.write(http.chunk(b""))
        await writer.drain()


async def _wait_for_hangup(reader: asyncio.StreamReader) -> None:
    while await reader.read(4096):
        pass
