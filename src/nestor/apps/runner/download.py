"""`format: url`: a manifest fetched by the class's rules and those that hold for all, so that kubectl itself never gets a URL.

What is checked is what is used: the connection goes to the addresses that were resolved and checked, and a redirect begins again.
Proxies of the environment are not used: behind one, no address could be checked.
"""

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from nestor.api import faults
from nestor.api.contracts import addresses
from nestor.apps.runner.attempt import AttemptError, StepError
from nestor.apps.steps import sources
from nestor.apps.steps.plan import Remote

MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 20.0
CHUNK = 65536
HEADERS = {"User-Agent": "nestor-runner", "Accept": "*/*", "Accept-Encoding": "identity"}
Explain = Callable[[str], str | None]
Resolve = Callable[[str, int, socket.AddressFamily], Awaitable[list[ResolveResult]]]


def parse_url(text: str) -> URL:
    """Raises `StepError` for what is no URL."""
    try:
        url = URL(text)
        host, port = url.host, url.port
    except ValueError as error:
        raise StepError(f"'{redact(text)}' is not a URL: {error}") from error
    if url.scheme not in ("http", "https") or not host or not port:
        raise StepError(f"'{redact(url)}' must begin with https:// or http://, and name a host")
    return url


def _redirect(url: URL, location: str) -> URL:
    """Where a redirect leads. Raises `StepError`."""
    try:
        target = url.join(URL(location))
    except ValueError as error:
        raise StepError(f"'{redact(url)}' redirects to something that is not a URL: {error}") from error
    target = parse_url(str(target))
    if url.scheme == "https" and target.scheme == "http":
        raise StepError(f"'{redact(url)}' is refused: it redirects from https to http ('{redact(target)}')")
    return target


def redact(url: URL | str) -> str:
    """The URL without what may be secret: user, password, query. For logs and messages."""
    try:
        url = URL(url) if isinstance(url, str) else url
        return str(url.with_user(None).with_query(None).with_fragment(None)) if url.host else str(url.with_query(None))
    except ValueError:
        # Half a character can be neither shown nor recorded.
        return str(url).partition("?")[0].encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class Fetched:
    size: int
    sha256: str


class Downloader:
    """Fetches by one set of rules; `explain` and `resolve` are parameters for tests, which have loopback alone."""

    def __init__(self, rules: Remote, *, explain: Explain | None = None, resolve: Resolve | None = None) -> None:
        self._rules = rules
        self._explain = explain or (lambda address: addresses.explain_refusal(address, rules.denied_addresses))
        self._resolve = resolve

    async def fetch(self, text: str, target: Path, *, sha256: str | None = None, limit: float = 300) -> Fetched:
        """Write what the URL holds to `target`, within `limit` seconds in all.

        Raises `StepError` when a rule refuses it, `AttemptError` when the server fails.
        """
        url = parse_url(text)
        shown = redact(url)
        resolver = _CheckedResolver(self._explain, self._resolve)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        tls = ssl.create_default_context()
        connector = aiohttp.TCPConnector(ssl=tls, resolver=resolver, use_dns_cache=False, force_close=True)
        try:
            async with (
                asyncio.timeout(limit),
                aiohttp.ClientSession(
                    connector=connector,
                    timeout=timeout,
                    headers=HEADERS,
                    auto_decompress=False,
                    trust_env=False,
                    cookie_jar=aiohttp.DummyCookieJar(),
                ) as session,
            ):
                fetched = await self._follow(session, url, target)
        except aiohttp.InvalidURL as error:
            raise StepError(f"'{shown}' is refused: {error}") from error
        except TimeoutError as error:
            raise AttemptError(f"'{shown}' cannot be fetched: {str(error) or f'timed out after {limit:g} s'}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise AttemptError(f"'{shown}' cannot be fetched: {str(error) or type(error).__name__}") from error
        if sha256 is not None and fetched.sha256 != sha256.lower():
            raise StepError(f"'{shown}' has the checksum {fetched.sha256}, the step's `sha256` is {sha256.lower()}")
        return fetched

    async def _follow(self, session: aiohttp.ClientSession, url: URL, target: Path) -> Fetched:
        for _ in range(MAX_REDIRECTS + 1):
            self._check(url.host or "", redact(url))
            async with session.get(url, allow_redirects=False) as response:
                location = response.headers.get("Location")
                if response.status not in (301, 302, 303, 307, 308) or location is None:
                    return await self._save(response, target)
            url = _redirect(url, location)
        raise StepError(f"'{redact(url)}' is refused: more than {MAX_REDIRECTS} redirects")

    async def check_host(self, host: str, what: str) -> None:
        """Apply the same rules to what kubectl or helm will fetch themselves, as far as possible beforehand.

        Raises `StepError`, also for what is no name. One that cannot be resolved is left to them.
        """
        self._check(host, what)
        try:
            await _CheckedResolver(self._explain, self._resolve).resolve(host, 443, socket.AF_UNSPEC)
        except OSError:
            return

    def _check(self, host: str, what: str) -> None:
        """Raises `StepError` for a host that the class does not allow to fetch `what` from, or an address that is refused."""
        if not host:
            raise StepError(f"'{what}' names no host to fetch it from")
        if not self._rules.enabled:
            raise StepError(f"'{what}' is refused: the job's class does not allow steps to fetch anything from remote hosts")
        if not sources.is_allowed(host, self._rules):
            allowed = ", ".join(self._rules.allowed_hosts)
            raise StepError(f"'{what}' is refused: the job's class does not allow the host '{host}', allowed: {allowed}")
        if addresses.is_address(host) and (reason := self._explain(host)):
            raise StepError(f"'{what}' is refused: {host} {reason}")

    async def _save(self, response: aiohttp.ClientResponse, target: Path) -> Fetched:
        shown = redact(response.url)
        if response.status != 200:
            raise AttemptError(f"'{shown}' cannot be fetched: the server answers {response.status} {response.reason}")
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise AttemptError(f"'{shown}' cannot be fetched: the server sent compressed content, which was not requested")
        if response.content_type == "text/html":
            raise AttemptError(f"'{shown}' is a web page, not a manifest: use the URL of the raw file")
        most = self._rules.max_bytes
        too_large = StepError(f"'{shown}' is refused: it is larger than {most} bytes")
        if (response.content_length or 0) > most:
            raise too_large
        digest, size = hashlib.sha256(), 0
        with target.open("wb") as file:
            async for chunk in response.content.iter_chunked(CHUNK):
                size += len(chunk)
                if size > most:
                    raise too_large
                digest.update(chunk)
                file.write(chunk)
        return Fetched(size, digest.hexdigest())


class _CheckedResolver(AbstractResolver):
    """Resolves names to addresses, all of which are allowed; connections go to these."""

    def __init__(self, explain: Explain, resolve: Resolve | None) -> None:
        self._explain = explain
        self._resolve = resolve or ThreadedResolver().resolve

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        try:
            found = await self._resolve(host, port, family)
        except ValueError as error:  # a label that is empty or too long, half a character
            raise StepError(f"{faults.show(host)} is not a host name: {error}") from error
        for item in found:
            if reason := self._explain(item["host"]):
                raise StepError(f"the host '{host}' is refused: its address {item['host']} {reason}")
        return found

    async def close(self) -> None:
        """Nothing to give back."""
