"""The host's kubelet, as far as streams go: logs that are written, and exec or port-forward sessions that echo.

Real containers are exec'd into in tests/e2e; here it counts that each byte passes two API servers and the syncer unchanged.
"""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from nestor.cluster import certificates


class FakeKubelet:
    """Notes each request; logs end when `log_end` is set, sessions when `process_end` is."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, list[tuple[str, str]]]] = []
        self.headers: dict[str, str] = {}
        self.log_end = asyncio.Event()
        self.process_end = asyncio.Event()
        self.open_streams = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one exchange."""
        self.open_streams += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            url = urlsplit(target)
            self.requests.append((method, url.path, parse_qsl(url.query)))
            lines = [line.partition(":") for line in head.split("\r\n")[1:] if line]
            self.headers = {name.lower(): value.strip() for name, _, value in lines}
            if url.path.startswith("/containerLogs/"):
                await self._logs(reader, writer)
            else:
                await self._echo(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_streams -= 1
            writer.close()

    async def _logs(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nfirst line\n")
        await writer.drain()
        waiting = [asyncio.create_task(self.log_end.wait()), asyncio.create_task(reader.read(1))]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        writer.write(b"last line\n")
        await writer.drain()

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upgrade, protocol = self.headers["upgrade"], self.headers.get("x-stream-protocol-version", "")
        writer.write(
            f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n"
            f"X-Stream-Protocol-Version: {protocol.split(',')[0]}\r\n\r\n".encode()
        )
        ending = asyncio.create_task(self.process_end.wait())
        ending.add_done_callback(lambda _: writer.close())
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            ending.cancel()


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[FakeKubelet, int]]:
    """A kubelet on a free port of loopback, with a certificate of its own, as kubelets have by default."""
    now = datetime.datetime.now(datetime.UTC)
    leaf = certificates.new_leaf(certificates.new_authority("kubelet-ca", now), "kubelet", now, hosts=["127.0.0.1"])
    (folder / "kubelet.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "kubelet.pem")
    kubelet = FakeKubelet()
    server = await asyncio.start_server(kubelet.handle, "127.0.0.1", 0, ssl=context)
    try:
        yield kubelet, server.sockets[0].getsockname()[1]
    finally:
        server.close()
