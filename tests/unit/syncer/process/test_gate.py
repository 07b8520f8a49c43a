"""The gate holds connections back, and passes them on untouched once it is open."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from nestor.syncer.process.gate import Gate


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.closing(writer):
        while chunk := await reader.read(100):
            writer.write(chunk)


async def find_port() -> int:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


class Scene:
    """A gate and what lies behind it."""

    def __init__(self, port: int, behind: int) -> None:
        self.port, self.behind, self.gate = port, behind, Gate(behind)
        self.task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the gate, as soon as that listens."""
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(ConnectionRefusedError):
                    return await asyncio.open_connection("127.0.0.1", self.port)
                await asyncio.sleep(0)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    """A gate that is closed; nobody listens behind it."""
    made = Scene(await find_port(), await find_port())
    made.task = asyncio.create_task(made.gate.serve(made.port))
    yield made
    await made.close()


async def test_who_came_before_the_server_did_is_served_once_the_gate_opens(scene: Scene) -> None:
    reader, writer = await scene.connect()
    with contextlib.closing(writer):
        writer.write(b"early")
        server = await asyncio.start_server(echo, "127.0.0.1", scene.behind)
        async with server, asyncio.timeout(60):
            scene.gate.is_open.set()
            await scene.gate.is_open.wait()
            assert await reader.readexactly(5) == b"early"
            late, other = await scene.connect()
            with contextlib.closing(other):
                other.write(b"late" * 100_000)
                assert await late.readexactly(400_000) == b"late" * 100_000


async def test_a_server_that_is_away_ends_the_connection(scene: Scene) -> None:
    scene.gate.is_open.set()
    reader, writer = await scene.connect()
    with contextlib.closing(writer):
        async with asyncio.timeout(60):
            assert await reader.read() == b""


@pytest.mark.parametrize("is_open", [True, False])
async def test_the_end_of_the_gate_is_the_end_of_its_connections(scene: Scene, is_open: bool) -> None:
    async with await asyncio.start_server(echo, "127.0.0.1", scene.behind):
        reader, writer = await scene.connect()
        with contextlib.closing(writer):
            if is_open:
                scene.gate.is_open.set()
                writer.write(b"x")
                assert await reader.readexactly(1) == b"x"
            await scene.close()
            async with asyncio.timeout(60):
                assert await reader.read() == b""
