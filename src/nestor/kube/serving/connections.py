"""Accepts connections from anybody, bounds those of whom nobody knows yet whether they may call, and copies bytes between two."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable

import h11

log = logging.getLogger(__name__)

NEW_LIMIT = 200
"""Connections whose callers are not known to be allowed. If there are more, the oldest goes: those who may call are known after a
few milliseconds.
"""
HANDSHAKE_SECONDS = 10.0
_CHUNK = 65536
_CLOSE_SECONDS = 2
_FLUSH_SECONDS = 30.0
_PAUSE_SECONDS = 1.0
"""After a failure to accept, as when there are no file descriptors left."""

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Connections:
    """Calls `handle` with each connection, in a task of its own, and closes it afterwards. `name`: of the server, for the log."""

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._name = name
        self._new: dict[asyncio.Task[None], None] = {}
        """Oldest first."""

    def allow(self) -> None:
        """The caller of the connection that the current task handles may call."""
        task = asyncio.current_task()
        if task is not None:
            self._new.pop(task, None)

    async def serve(self, port: int, tls: ssl.SSLContext | None, address: str) -> None:
        """Accept until cancelled. An empty address: on all, of both families."""
        is_dual = not address and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if ":" in address or is_dual else socket.AF_INET
        with socket.create_server((address, port), family=family, backlog=100, dualstack_ipv6=is_dual) as server:
            server.setblocking(False)
            async with asyncio.TaskGroup() as group:
                while True:
                    await _await_readable(server)
                    try:
                        accepted, _ = server.accept()
                    except (BlockingIOError, InterruptedError):  # who called has hung up already
                        continue
                    except OSError as error:
                        log.warning("connections cannot be accepted: %s", error)
                        await asyncio.sleep(_PAUSE_SECONDS)
                        continue
                    self._make_room()
                    self._begin(group, accepted, tls)

    def _begin(self, group: asyncio.TaskGroup, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        task = group.create_task(self._run(accepted, tls))
        self._new[task] = None

        def end(ended: asyncio.Task[None]) -> None:
            self._new.pop(ended, None)
            accepted.close()  # of a task that was cancelled before it began; else it is detached

        task.add_done_callback(end)

    def _make_room(self) -> None:
        while len(self._new) >= NEW_LIMIT:
            oldest = next(iter(self._new))
            del self._new[oldest]
            oldest.cancel()

    async def _run(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        own = socket.socket(fileno=accepted.detach())  # from here on, the transport closes it
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, own, ssl=tls, ssl_handshake_timeout=HANDSHAKE_SECONDS if tls else None
            )
        except OSError as error:  # TLS errors and time limits are such, too
            log.debug("%s: %s", self._name, error)
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await self._handle(reader, writer)
        except (OSError, TimeoutError, h11.ProtocolError) as error:
            log.debug("%s: %s", self._name, error)
        except Exception:
            log.exception("%s: a request failed", self._name)
        finally:
            await close(writer)


async def _await_readable(server: socket.socket) -> None:
    """Until `accept` has something to give.

    Not the event loop's own `sock_accept`: a cancellation at the wrong moment loses the connection that it has accepted.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(server, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(server)


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
