"""Asking for a job's page as a browser on this machine would."""

import asyncio
from urllib.parse import urlsplit

import aiohttp

PAUSE_SECONDS = 0.05
_LIMIT = aiohttp.ClientTimeout(total=5)


def locate(url: str) -> tuple[str, str]:
    """Where to connect to, and the Host header: not all resolvers know that `.localhost` is this machine (RFC 6761)."""
    parts = urlsplit(url)
    if not (parts.hostname or "").endswith(".localhost"):
        return url, parts.netloc
    return parts._replace(netloc=f"127.0.0.1:{parts.port}" if parts.port else "127.0.0.1").geturl(), parts.netloc


async def fetch_when_ready(url: str, host: str = "") -> str:
    """The page, as soon as it is answered with 200; asks again until cancelled. `host`: another one that is served there."""
    address, own = locate(url)
    async with aiohttp.ClientSession(timeout=_LIMIT, headers={"Host": host or own}) as session:
        while True:
            try:
                async with session.get(address) as answer:
                    if answer.status == 200:
                        return await answer.text()
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(PAUSE_SECONDS)
