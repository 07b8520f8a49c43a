"""A local server, good and evil; loopback, which no download may reach, is open for the one address that it listens on."""

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from nestor.api.contracts import addresses
from nestor.apps.runner import download
from nestor.apps.runner.attempt import AttemptError, StepError
from nestor.apps.runner.download import Downloader
from nestor.apps.steps.plan import Remote

MANIFEST = b"apiVersion: v1\nkind: ConfigMap\n"
DIGEST = hashlib.sha256(MANIFEST).hexdigest()


def explain(address: str) -> str | None:
    return None if address == "127.0.0.1" else addresses.explain_refusal(address, ["10.40.0.2"])


def build_answer(host: str, port: int, address: str) -> ResolveResult:
    return ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)


class Site:
    """The server, the names that lead to it, and what it was asked for."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {"files.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
        self.asked: list[str] = []
        self.resolved: list[str] = []
        self.port = 0
        self.redirects: dict[str, str] = {}
        self.headers: dict[str, str] = {}

    def url(self, path: str = "/manifest.yaml", host: str = "files.test") -> str:
        return f"http://{host}:{self.port}{path}"

    async def resolve(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        self.resolved.append(host)
        if host not in self.names:
            raise socket.gaierror(-2, "Name or service not known")
        found = self.names[host]
        # Another answer each time, as of a name server that plays tricks.
        answers = [found.pop(0)] if len(found) > 1 else found
        return [build_answer(host, port, address) for address in answers]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        self.headers = dict(request.headers)
        if request.path in self.redirects:
            return web.Response(status=302, headers={"Location": self.redirects[request.path]})
        if request.path == "/loop":
            return web.Response(status=302, headers={"Location": f"/loop?{len(self.asked)}"})
        if request.path == "/endless":
            return await _stream(request, b"x" * 65536, 0)
        if request.path == "/slow":
            return await _stream(request, b"x", 0.05)
        answers: dict[str, dict[str, Any]] = {
            "/page": {"body": b"<html>", "content_type": "text/html"},
            "/zipped": {"body": MANIFEST, "headers": {"Content-Encoding": "gzip"}},
            "/broken": {"status": 503},
            "/large": {"body": b"x" * 2000},
        }
        return web.Response(**answers.get(request.path, {"body": MANIFEST, "content_type": "text/plain"}))


async def _stream(request: web.Request, chunk: bytes, pause: float) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(chunk)
        await asyncio.sleep(pause)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


async def fetch(
    site: Site, url: str, target: Path, *, limit: float = 10, sha256: str | None = None, **rules: Any
) -> download.Fetched:
    downloader = Downloader(Remote(**rules), explain=explain, resolve=site.resolve)
    return await downloader.fetch(url, target / "manifest.yaml", sha256=sha256, limit=limit)


async def test_a_manifest_is_fetched_and_its_checksum_told(site: Site, tmp_path: Path) -> None:
    assert await fetch(site, site.url(), tmp_path) == download.Fetched(len(MANIFEST), DIGEST)
    assert (tmp_path / "manifest.yaml").read_bytes() == MANIFEST
    assert site.headers["Accept-Encoding"] == "identity"


async def test_a_given_checksum_must_be_the_manifests(site: Site, tmp_path: Path) -> None:
    await fetch(site, site.url(), tmp_path, sha256=DIGEST.upper())
    with pytest.raises(StepError, match=f"has the checksum {DIGEST}, the step's `sha256` is {'0' * 64}"):
        await fetch(site, site.url(), tmp_path, sha256="0" * 64)


async def test_redirects_are_followed_relative_ones_too(site: Site, tmp_path: Path) -> None:
    site.redirects = {"/manifest.yaml": "next", "/next": site.url("/last", "other.test")}
    assert (await fetch(site, site.url(), tmp_path)).sha256 == DIGEST
    assert site.asked == ["/manifest.yaml", "/next", "/last"]


async def test_redirects_have_an_end(site: Site, tmp_path: Path) -> None:
    with pytest.raises(StepError, match="is refused: more than 5 redirects"):
        await fetch(site, site.url("/loop"), tmp_path)
    assert len(site.asked) == download.MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is link-local, as clouds' metadata services are"),
        ("http://[::ffff:169.254.169.254]/", "is link-local"),
        ("http://10.40.0.2:6443/api", "10.40.0.2 belongs to the cluster that runs the job"),
        ("http://[::1]/", "is the runner itself"),
        ("http://metadata.test/", "the host 'metadata.test' is refused: its address 169.254.169.254 is link-local"),
        ("http://2130706433/", "is refused"),
        ("http://127.1/", "is refused"),
        ("file:///etc/passwd", "must begin with https:// or http://"),
        ("gopher://files.test/", "must begin with https:// or http://"),
    ],
)
@pytest.mark.parametrize("is_redirected", [False, True])
async def test_what_is_not_to_be_reached_is_refused_at_once_and_after_redirects(
    site: Site, tmp_path: Path, target: str, reason: str, is_redirected: bool
) -> None:
    site.names["metadata.test"] = ["169.254.169.254"]
    site.redirects["/manifest.yaml"] = target
    with pytest.raises(StepError) as refused:
        await fetch(site, site.url() if is_redirected else target, tmp_path)
    assert reason in str(refused.value)
    assert len(site.asked) == is_redirected
    assert not (tmp_path / "manifest.yaml").exists()


@pytest.mark.parametrize(
    "url", ["http://", "http:///path", "//files.test/", "files.test/x.yaml", "http://[::1", "http://x:99999/"]
)
async def test_what_is_no_url_is_told(tmp_path: Path, url: str) -> None:
    with pytest.raises(StepError, match=r"must begin with https:// or http://|is not a URL"):
        await Downloader(Remote()).fetch(url, tmp_path / "x")


@pytest.mark.parametrize(
    "host", ["a" * 70 + ".example.com", "a..b.com", ".b.com", "xn--zzzzzz99999.com", "bü..b.com", "ü" + "a" * 70 + ".com"]
)
@pytest.mark.parametrize("is_redirected", [False, True])
async def test_a_host_that_no_name_can_be_is_told(site: Site, tmp_path: Path, host: str, is_redirected: bool) -> None:
    real = ThreadedResolver()  # it refuses such a name before it asks anybody
    if is_redirected:
        site.redirects["/manifest.yaml"] = f"http://{host}/x"

    async def resolve(name: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        return await (site if name == "files.test" else real).resolve(name, port, family)

    with pytest.raises(StepError, match=r"is not a host name|is not a URL"):
        await Downloader(Remote(), explain=explain, resolve=resolve).fetch(
            site.url() if is_redirected else f"http://{host}/x", tmp_path / "x"
        )


async def test_the_address_that_was_checked_is_the_one_that_is_used(site: Site, tmp_path: Path) -> None:
    # The second question would be answered otherwise; there is none.
    site.names["rebinding.test"] = ["127.0.0.1", "169.254.169.254"]
    await fetch(site, site.url(host="rebinding.test"), tmp_path)
    assert site.resolved == ["rebinding.test"]
    with pytest.raises(StepError, match=r"its address 169\.254\.169\.254 is link-local"):
        await fetch(site, site.url(host="rebinding.test"), tmp_path)


async def test_a_redirect_to_the_same_name_is_resolved_and_checked_again(site: Site, tmp_path: Path) -> None:
    site.names["rebinding.test"] = ["127.0.0.1", "169.254.169.254"]
    site.redirects = {"/manifest.yaml": "/next"}
    with pytest.raises(StepError, match=r"its address 169\.254\.169\.254 is link-local"):
        await fetch(site, site.url(host="rebinding.test"), tmp_path)
    assert site.asked == ["/manifest.yaml"]


async def test_one_bad_address_among_good_ones_is_refused(tmp_path: Path) -> None:
    async def resolve(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        return [build_answer(host, port, address) for address in ("93.184.216.34", "10.40.0.2")]

    with pytest.raises(StepError, match=r"its address 10\.40\.0\.2 belongs to the cluster"):
        await Downloader(Remote(), explain=explain, resolve=resolve).fetch("http://two.test/", tmp_path / "x")


async def test_a_class_may_switch_downloads_off(site: Site, tmp_path: Path) -> None:
    with pytest.raises(StepError, match="does not allow steps to fetch anything from remote hosts"):
        await fetch(site, site.url(), tmp_path, enabled=False)
    assert site.resolved == []


async def test_a_class_may_name_hosts_which_holds_for_redirects(site: Site, tmp_path: Path) -> None:
    rules: dict[str, Any] = {"allowed_hosts": ("files.test", "*.example.com")}
    site.redirects = {"/leaves": site.url("/x", "other.test")}
    await fetch(site, site.url(), tmp_path, **rules)
    with pytest.raises(StepError, match=r"does not allow the host 'other\.test', allowed: files\.test, \*\.example\.com"):
        await fetch(site, site.url("/leaves"), tmp_path, **rules)


@pytest.mark.parametrize(("path", "most"), [("/large", 1000), ("/endless", 1_000_000)])
async def test_large_answers_are_refused_and_endless_ones_cut(site: Site, tmp_path: Path, path: str, most: int) -> None:
    with pytest.raises(StepError, match=f"is larger than {most} bytes"):
        await fetch(site, site.url(path), tmp_path, max_bytes=most)
    target = tmp_path / "manifest.yaml"
    assert not target.exists() or target.stat().st_size <= most


async def test_slow_ones_at_the_steps_limit(site: Site, tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match=r"cannot be fetched: timed out after 0\.5 s"):
        await fetch(site, site.url("/slow"), tmp_path, limit=0.5)


async def test_a_server_that_says_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "SILENCE_SECONDS", 0.2)
    gone = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        gone.set()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(AttemptError, match=r"[Tt]imeout"):
        await Downloader(Remote(), explain=explain).fetch(f"http://127.0.0.1:{port}/", tmp_path / "x")
    async with asyncio.timeout(10):
        await gone.wait()
    server.close()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/broken", "the server answers 503 Service Unavailable"),
        ("/page", "is a web page, not a manifest"),
        ("/zipped", "the server sent compressed content"),
    ],
)
async def test_what_the_server_gets_wrong_may_be_tried_again(site: Site, tmp_path: Path, path: str, said: str) -> None:
    with pytest.raises(AttemptError, match=said):
        await fetch(site, site.url(path), tmp_path)


async def test_so_may_a_name_or_a_server_that_is_not_there(site: Site, tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="Name or service not known"):
        await fetch(site, "http://missing.test/", tmp_path)
    site.names["closed.test"] = ["127.0.0.1"]
    with pytest.raises(AttemptError, match=r"'http://closed.test:1/' cannot be fetched: "):
        await fetch(site, "http://closed.test:1/", tmp_path)


async def test_what_may_be_secret_is_not_told(site: Site, tmp_path: Path) -> None:
    url = site.url("/broken?token=hunter2").replace("files", "me:hunter2@files")
    with pytest.raises(AttemptError) as failed:
        await fetch(site, url, tmp_path)
    assert "hunter2" not in str(failed.value)


async def test_the_environments_proxies_are_not_used(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await fetch(site, site.url(), tmp_path)).sha256 == DIGEST
