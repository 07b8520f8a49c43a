"""The pages for probes and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nestor.kube.serving import http
from nestor.kube.serving.connections import Connections

STALE_SECONDS = 300
"""Servers send bookmarks every minute and end watches after 240 s: a watch silent for longer has lost its server."""
METRICS = "/metrics"


@dataclass(frozen=True)
class Pages:
    """What is answered, by path."""

    probes: Mapping[str, Callable[[], str | None]]
    """Functions that return what is wrong; None if nothing is."""
    texts: Mapping[str, Callable[[], str]]

    def answer(self, method: str, path: str) -> tuple[int, str]:
        """Status and text."""
        if method != "GET":
            return 405, "only GET"
        if find_problem := self.probes.get(path):
            problem = find_problem()
            return (503, problem) if problem else (200, "ok")
        write = self.texts.get(path)
        return (200, write()) if write else (404, "not found")

    async def serve(self, port: int) -> None:
        """Answer on all addresses until cancelled."""
        await Connections(self._respond, "pages").serve(port, None, "")

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await http.read_request(reader)
        if request is not None:
            await http.respond(writer, *self.answer(request.method, "/" + "/".join(request.path)))
