"""The gate: CoreDNS's way to the nested API server, closed until that will answer.

CoreDNS starts beside the API server. Each refusal makes its client wait longer before it tries again, so DNS would be ready up to
five seconds after the API. A connection to the gate is accepted at once and waits; the TLS handshake goes on when the gate
opens. Bytes pass through untouched; the client verifies the API server as if there were no gate.
"""

import asyncio

from nestor.kube.serving.connections import Connections, close, pipe_both


class Gate:
    """A loopback port in front of another one."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.is_open = asyncio.Event()
        self._connections = Connections(self._pass, "gate")

    async def serve(self, port: int) -> None:
        await self._connections.serve(port, None, "127.0.0.1")

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.allow()  # who may call is for the server behind the gate to say
        await self.is_open.wait()
        there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
        try:
            await pipe_both(reader, writer, there, back)
        finally:
            await close(back)
