"""The HTTP server for probes and metrics: a small one, since every process has it and only machines ask."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from functools import partial

log = logging.getLogger(__name__)

STALE_SECONDS = 300
"""Servers send bookmarks every minute and end watches after 240 s: a watch silent for longer has lost its server."""
METRICS = "/metrics"
_HEAD_SECONDS = 10
_WORDS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}

Pages = dict[str, Callable[[], tuple[int, str]]]
"""By path: the status and the text to answer."""


async def serve(port: int, probes: Mapping[str, Callable[[], str | None]], texts: Mapping[str, Callable[[], str]]) -> None:
    """Answer until cancelled: a path of `probes` with 503 and the problem that its function returns, or with 200 for None; a path
    of `texts` with what its function returns.
    """
    pages: Pages = {path: partial(_judge, find_problem) for path, find_problem in probes.items()}
    pages |= {path: partial(_show, write) for path, write in texts.items()}
    connections = _Connections(pages)
    try:
        async with await asyncio.start_server(connections.begin, port=port) as server:
            await server.serve_forever()
    finally:
        await connections.end()


class _Connections:
    """Those that are open. `asyncio` ends none with its server, and forgets to close one whose task is cancelled."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ending = False

    def begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer on this one."""
        if self._is_ending:  # it was accepted in the last moment
            writer.close()
            return
        task = asyncio.create_task(_answer(self._pages, reader, writer))
        self._tasks.add(task)

        def end(ended: asyncio.Task[None]) -> None:
            self._tasks.discard(ended)
            writer.close()  # here, for a task that was cancelled before it began

        task.add_done_callback(end)

    async def end(self) -> None:
        """Close all."""
        self._is_ending = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _judge(find_problem: Callable[[], str | None]) -> tuple[int, str]:
    problem = find_problem()
    return (200, "ok") if problem is None else (503, problem)


def _show(write: Callable[[], str]) -> tuple[int, str]:
    return 200, write()


async def _answer(pages: Pages, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request on a connection."""
    try:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_HEAD_SECONDS):
                method, target = _read_head(await reader.readuntil(b"\r\n\r\n"))
                writer.write(_write_answer(method, *_find(pages, method, target)))
                await writer.drain()
    except Exception:
        log.exception("a page cannot be written")


def _write_answer(method: str, status: int, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else body)


def _read_head(head: bytes) -> tuple[str, str]:
    """Method and target of a request; empty if it is none."""
    parts = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return (parts[0], parts[1]) if len(parts) == 3 and parts[2].startswith("HTTP/1.") else ("", "")


def _find(pages: Pages, method: str, target: str) -> tuple[int, str]:
    if not method:
        return 400, "not HTTP"
    if method not in ("GET", "HEAD"):
        return 405, "only GET"
    page = pages.get(target.partition("?")[0])
    return page() if page else (404, "not found")
