"""Copying bytes between connections, for providers that open streams and for their callers."""

from __future__ import annotations

import asyncio
import contextlib

_CHUNK = 65536
_CLOSE_SECONDS = 2
_FLUSH_SECONDS = 30.0


async def pipe_both(
    left_reader: asyncio.StreamReader,
    left_writer: asyncio.StreamWriter,
    right_reader: asyncio.StreamReader,
    right_writer: asyncio.StreamWriter,
) -> None:
    """Copy both ways until either side ends: neither SPDY, WebSocket nor TLS works over a half-closed connection."""
    tasks = [asyncio.create_task(_pipe(left_reader, right_writer)), asyncio.create_task(_pipe(right_reader, left_writer))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def close(writer: asyncio.StreamWriter) -> None:
    """Close the connection, ignoring errors. To a slow reader, what is left is sent in the background.

    After `_FLUSH_SECONDS`, or at once if the current task is cancelled, the connection is cut off: who reads nothing would
    keep it open for ever.
    """
    writer.close()
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await writer.wait_closed()
    except asyncio.CancelledError:
        _cut(writer)
        raise
    except TimeoutError:
        task = asyncio.current_task()
        is_ending = task is None or task.cancelling() > 0
        asyncio.get_running_loop().call_later(0 if is_ending else _FLUSH_SECONDS, _cut, writer)
    except Exception:
        return


def _cut(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(AttributeError):  # one that has closed by now may raise it
        writer.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
