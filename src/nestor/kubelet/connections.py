"""Accepts connections from anybody, and bounds those of whom nobody knows yet whether they may call."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

NEW_LIMIT = 200
"""Connections whose callers are not known to be allowed. If there are more, the oldest goes: those who may call are known after a
few milliseconds.
"""
HANDSHAKE_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
"""After a failure to accept, as when there are no file descriptors left."""

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Connections:
    """Calls `handle` with each connection, in a task of its own; `handle` must not raise."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._new: dict[asyncio.Task[None], None] = {}
        """Oldest first."""

    def allow(self) -> None:
        """The caller of the connection that the current task handles may call."""
        task = asyncio.current_task()
        if task is not None:
            self._new.pop(task, None)

    async def serve(self, port: int, tls: ssl.SSLContext | None, address: str) -> None:
        """Accept until cancelled."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, port), family=family, backlog=100) as server:
            server.setblocking(False)
            loop = asyncio.get_running_loop()
            async with asyncio.TaskGroup() as group:
                while True:
                    try:
                        accepted, _ = await loop.sock_accept(server)
                    except OSError as error:
                        log.warning("connections cannot be accepted: %s", error)
                        await asyncio.sleep(_PAUSE_SECONDS)
                        continue
                    self._make_room()
                    task = group.create_task(self._run(accepted, tls))
                    self._new[task] = None
                    task.add_done_callback(lambda ended: self._new.pop(ended, None))

    def _make_room(self) -> None:
        while len(self._new) >= NEW_LIMIT:
            oldest = next(iter(self._new))
            del self._new[oldest]
            oldest.cancel()

    async def _run(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=tls, ssl_handshake_timeout=HANDSHAKE_SECONDS if tls else None
            )
        except OSError as error:  # TLS errors and time limits are such, too
            log.debug("connection: %s", error)
            return
        await self._handle(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
