"""Streams container logs from the provider to the caller."""

from __future__ import annotations

import asyncio

from nestor.api.objects import Object
from nestor.kube.serving import http
from nestor.pods.providers.base import Logs, Options


async def stream_logs(
    logs: Logs, pod: Object, options: Options, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Send the log until it ends or the caller hangs up; a followed log may be silent for days."""
    sending = asyncio.create_task(_send(logs, pod, options, writer))
    hangup = asyncio.create_task(_wait_for_hangup(reader))
    try:
        await asyncio.wait([sending, hangup], return_when=asyncio.FIRST_COMPLETED)
    finally:
        hangup.cancel()
        sending.cancel()
        results = await asyncio.gather(sending, hangup, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]


async def _send(logs: Logs, pod: Object, options: Options, writer: asyncio.StreamWriter) -> None:
    async with logs.open_log(pod, options) as pieces:
        writer.write(http.stream_head())
        async for data in pieces:
            writer.write(http.chunk(data))
            await writer.drain()
        writer.write(http.chunk(b""))
        await writer.drain()


async def _wait_for_hangup(reader: asyncio.StreamReader) -> None:
    while await reader.read(4096):
        pass
