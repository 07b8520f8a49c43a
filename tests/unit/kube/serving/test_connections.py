"""Connections of callers whom nobody knows yet are bounded, and those who may call are not pushed out by them."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator

import pytest

from nestor.kube.serving import connections
from nestor.kube.serving.connections import Connections
from tests.waiting import eventually


class Server:
    """Echoes one line; a caller who says `allowed` first may stay."""

    def __init__(self) -> None:
        self.open = 0
        self.connections = Connections(self._handle, "test")
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port: int = found.getsockname()[1]

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while line := await reader.readline():
                if line == b"allowed\n":
                    self.connections.allow()
                writer.write(line)
        finally:
            self.open -= 1
            writer.close()

    async def call(self, line: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which that was said and answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(line)
        if line:
            assert await reader.readline() == line
        return reader, writer

    async def until(self, count: int) -> None:
        """Until so many connections are open."""

        async def look() -> bool:
            return self.open == count

        await eventually(look)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """One that serves, with room for three who are not known."""
    monkeypatch.setattr(connections, "NEW_LIMIT", 3)
    made = Server()
    task = asyncio.create_task(made.connections.serve(made.port, None, "127.0.0.1"))

    async def look() -> bool:
        try:
            _, writer = await made.call(b"hello\n")
        except OSError:
            return False
        writer.close()
        return True

    await eventually(look)
    await made.until(0)
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert made.open == 0


async def test_the_oldest_stranger_goes(server: Server) -> None:
    made = [await server.call(b"hello\n") for _ in range(5)]
    await server.until(3)
    ends = [asyncio.create_task(reader.read()) for reader, _ in made]
    assert [await end for end in ends[:2]] == [b"", b""]
    _, writer = await server.call(b"still there\n")
    assert not ends[4].done()
    for open_one in [*(item for _, item in made), writer]:
        open_one.close()
    await asyncio.gather(*ends)


async def test_who_may_call_is_not_pushed_out(server: Server) -> None:
    reader, writer = await server.call(b"allowed\n")
    made = [await server.call(b"hello\n") for _ in range(10)]
    await server.until(4)
    writer.write(b"and on\n")
    assert await reader.readline() == b"and on\n"
    for open_one in [*(item for _, item in made), writer]:
        open_one.close()


async def test_none_is_left_open_at_the_end() -> None:
    """Whenever the end comes: before a connection is accepted, before its task has begun, or later."""
    for steps in range(8):
        made = Server()
        task = asyncio.create_task(made.connections.serve(made.port, None, "127.0.0.1"))
        await asyncio.sleep(0)
        with socket.create_connection(("127.0.0.1", made.port)):
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert made.open == 0
    gc.collect()  # a socket that nobody has closed warns here, and a warning fails the test


async def test_who_hangs_up_makes_room(server: Server) -> None:
    for _ in range(5):
        _, writer = await server.call(b"hello\n")
        writer.close()
        await server.until(0)
    _, writer = await server.call(b"hello\n")
    writer.close()
