"""Fetching a job's page as a browser on this machine would, and its text for a terminal."""

from __future__ import annotations

import asyncio
import html.parser
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp

PAUSE_SECONDS = 0.1
REQUEST_SECONDS = 5.0
_HIDDEN = {"head", "style", "script"}
_BLOCKS = {"p", "h1", "h2", "h3", "li", "div", "br", "tr"}


@dataclass(frozen=True)
class Address:
    """Where to connect to, and what to ask for."""

    url: str
    host: str | None
    """The Host header, where the name itself does not resolve everywhere."""


def locate(url: str) -> Address:
    """Hosts below `.localhost` are this machine (RFC 6761), but only browsers and some resolvers know."""
    parts = urlsplit(url)
    if not (parts.hostname or "").endswith(".localhost"):
        return Address(url, None)
    port = f":{parts.port}" if parts.port else ""
    return Address(parts._replace(netloc=f"127.0.0.1{port}").geturl(), parts.netloc)


async def fetch_when_ready(url: str) -> str:
    """The page, as soon as it is answered with 200; asks again until cancelled."""
    address = locate(url)
    headers = {"Host": address.host} if address.host else {}
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
        while True:
            try:
                async with session.get(address.url) as answer:
                    if answer.status == 200:
                        return await answer.text()
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(PAUSE_SECONDS)


def to_text(content: str) -> str:
    """What a reader sees of an HTML page: a line per block."""
    parser = _TextParser()
    parser.feed(content)
    parser.close()
    return "\n".join(line for line in (" ".join(block.split()) for block in parser.blocks) if line)


class _TextParser(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [""]
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.blocks[-1] += data
