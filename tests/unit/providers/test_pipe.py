"""Connections end when they are closed, whatever the other side does."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from nestor.providers import pipe

_MORE_THAN_FITS = 2**24
"""Bytes; what both sides' buffers hold is less."""


class Pair(NamedTuple):
    """A connection, and its other side, which reads nothing."""

    writer: asyncio.StreamWriter
    other: socket.socket

    def measure(self) -> int:
        """How many bytes the other side gets until the connection ends."""
        self.other.settimeout(10)
        found = 0
        try:
            while piece := self.other.recv(2**20):
                found += len(piece)
        except ConnectionResetError:
            pass
        return found


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    """One on which more was written than is read."""
    own, other = socket.socketpair()
    with other:
        _, writer = await asyncio.open_connection(sock=own)
        writer.write(bytes(_MORE_THAN_FITS))
        yield Pair(writer, other)
    writer.transport.abort()
    await asyncio.sleep(0)


async def test_who_does_not_read_is_cut_off(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "_CLOSE_SECONDS", 0.01)
    await pipe.close(pair.writer)
    await asyncio.sleep(0)
    assert pair.measure() < _MORE_THAN_FITS


async def test_a_cancellation_cuts_off(pair: Pair) -> None:
    task = asyncio.create_task(pipe.close(pair.writer))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    await asyncio.sleep(0)
    assert pair.measure() < _MORE_THAN_FITS


async def test_what_was_written_arrives_at_who_reads() -> None:
    own, other = socket.socketpair()
    with other:
        _, writer = await asyncio.open_connection(sock=own)
        writer.write(bytes(_MORE_THAN_FITS))
        counting = asyncio.create_task(asyncio.to_thread(Pair(writer, other).measure))
        await pipe.close(writer)
        assert await counting == _MORE_THAN_FITS


async def test_one_that_has_ended_already_is_closed() -> None:
    own, other = socket.socketpair()
    other.close()
    reader, writer = await asyncio.open_connection(sock=own)
    await reader.read()
    await pipe.close(writer)
    await pipe.close(writer)
    del writer
    gc.collect()  # a transport that nobody has closed warns here, and a warning fails the test
