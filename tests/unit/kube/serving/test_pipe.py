"""Connections end when they are closed, whatever the other side does."""

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from nestor.kube.serving import connections

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
    with contextlib.suppress(AttributeError):  # of one that has closed
        writer.transport.abort()
    await asyncio.sleep(0)


async def is_lost(pair: Pair) -> bool:
    """Whether the other side has not got all when the connection ends."""
    return await asyncio.to_thread(pair.measure) < _MORE_THAN_FITS


async def test_who_does_not_read_is_cut_off(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_CLOSE_SECONDS", 0.01)
    monkeypatch.setattr(connections, "_FLUSH_SECONDS", 0.01)
    ended = asyncio.Event()
    cut = connections._cut

    def note(writer: asyncio.StreamWriter) -> None:
        cut(writer)
        ended.set()

    monkeypatch.setattr(connections, "_cut", note)
    await connections.close(pair.writer)
    await ended.wait()
    assert await is_lost(pair)


async def test_who_reads_slowly_gets_all(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of a file that is copied over a slow line, for example."""
    monkeypatch.setattr(connections, "_CLOSE_SECONDS", 0.01)
    await connections.close(pair.writer)
    assert not await is_lost(pair)


async def test_at_the_end_of_the_process_nobody_is_waited_for_so_long(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_CLOSE_SECONDS", 0.01)

    async def serve() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:  # as servers do, whose connections must not raise
            await connections.close(pair.writer)

    task = asyncio.create_task(serve())
    await asyncio.sleep(0)
    task.cancel()
    await task
    await asyncio.sleep(0)
    assert await is_lost(pair)


async def test_a_cancellation_cuts_off(pair: Pair) -> None:
    task = asyncio.create_task(connections.close(pair.writer))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    await asyncio.sleep(0)
    assert await is_lost(pair)


async def test_one_that_has_ended_already_is_closed() -> None:
    own, other = socket.socketpair()
    other.close()
    reader, writer = await asyncio.open_connection(sock=own)
    await reader.read()
    await connections.close(writer)
    await connections.close(writer)
    del writer
    gc.collect()  # a transport that nobody has closed warns here, and a warning fails the test
