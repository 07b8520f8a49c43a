"""Servers that go wrong on purpose: a proxy that delays and cuts connections, and a server that answers by a script."""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from nestor.api.objects import Object


@dataclass
class FaultProxy:
    """Passes TCP connections on to a server on loopback."""

    target: int
    port: int = 0
    delay: float = 0
    """Seconds that each part of an answer is held back."""
    jitter: float = 0
    """Seconds up to which each part is held back besides, by chance: watches and answers overtake one another."""
    is_down: bool = False
    """Whether connections are closed as soon as they are made."""
    chance: random.Random = field(default_factory=random.Random)
    lost: int = 0
    """How many connections were reset."""
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """Reset all connections, whatever is under way in them."""
        for writer in self._writers:
            writer.transport.abort()
        self.lost += len(self._writers)

    def cut_one(self) -> None:
        """Reset any one connection."""
        if self._writers:
            self.chance.choice(sorted(self._writers, key=id)).transport.abort()
            self.lost += 1

    def _find_delay(self) -> float:
        """Mostly short, sometimes long."""
        return self.delay + self.jitter * self.chance.random() ** 4

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        if self.is_down:
            writer.transport.abort()
            return
        behind, ahead = await asyncio.open_connection("127.0.0.1", self.target)
        both = {writer, ahead}
        self._writers |= both
        try:
            await asyncio.gather(_pass_on(reader, ahead, lambda: 0), _pass_on(behind, writer, self._find_delay))
        finally:
            self._writers -= both
            for one in both:
                one.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: Callable[[], float]) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            if held := delay():
                await asyncio.sleep(held)
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


@asynccontextmanager
async def proxy_to(server: str) -> AsyncIterator[FaultProxy]:
    """A proxy before the server with this URL, for the length of a `with` block."""
    proxy = FaultProxy(urlsplit(server).port or 443)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        proxy.cut()


@dataclass
class Exchange:
    """One request to a scripted server; the answer is chunked, and has no end until the script returns."""

    method: str
    target: str
    writer: asyncio.StreamWriter

    async def begin(self) -> None:
        """The head of an answer that comes in parts."""
        self.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self.writer.drain()

    async def send(self, part: Object) -> None:
        """One part: a line of JSON."""
        data = json.dumps(part).encode() + b"\n"
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def answer(self, body: Object, status: int = 200) -> None:
        """All of it."""
        data = json.dumps(body).encode()
        self.writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        await self.writer.drain()

    def cut(self) -> None:
        """Reset the connection."""
        self.writer.transport.abort()


Script = Callable[[Exchange], Awaitable[None]]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """The URL of a server that answers each request by `script`, for the length of a `with` block."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                method, target, _ = head.split(" ", 2)
                await script(Exchange(method, target, writer))
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def kubeconfig(server: str) -> Object:
    """A kubeconfig for it."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
