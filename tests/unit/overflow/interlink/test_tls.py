"""TLS with a certificate authority of the backend's own, with and without a client certificate; and addresses that are closed."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api import backend_kinds, times
from nestor.api.backend_kinds import Interlink, Oidc
from nestor.api.model import SecretKey
from nestor.cluster.certificates import Pair, new_authority, new_leaf
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.interlink.settings import Settings, Tls
from nestor.pods.providers.errors import Unreachable
from tests.unit.overflow.interlink.conftest import QUICK

AUTHORITY = new_authority("backend", times.now())
OTHER = new_authority("other", times.now())


def client_of(authority: Pair) -> dict[str, str]:
    """The fields of `Tls` for a client certificate."""
    leaf = new_leaf(authority, "nestor", times.now())
    return {"certificate": leaf.certificate.decode(), "key": leaf.key.decode()}


CA, OURS = AUTHORITY.certificate.decode(), client_of(AUTHORITY)


@asynccontextmanager
async def serve(folder: Path, host: str, mode: ssl.VerifyMode = ssl.CERT_REQUIRED) -> AsyncIterator[tuple[str, list[object]]]:
    """A backend that is always well, and a token server; yields the URL, and the certificates that clients show."""
    leaf = new_leaf(AUTHORITY, "backend", times.now(), hosts=[host])
    files = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": AUTHORITY.certificate}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    context.verify_mode = mode
    shown: list[object] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport
        shown.append(request.transport.get_extra_info("peercert"))
        return web.json_response({"access_token": "granted"})

    app = web.Application()
    app.router.add_post("/pinglink", answer)
    app.router.add_post("/token", answer)
    server = TestServer(app, scheme="https")
    await server.start_server(ssl=context)
    try:
        yield str(server.make_url("")).rstrip("/"), shown
    finally:
        await server.close()


def connect(url: str, token_url: str | None = None) -> Interlink:
    secret = SecretKey(name="a", key="b")
    oidc = Oidc(token_url=token_url, client_id="id", client_secret_ref=secret) if token_url else None
    return Interlink(url=url, oidc=oidc)


async def test_a_token_server_may_have_the_backends_authority_and_sees_no_certificate_of_ours(tmp_path: Path) -> None:
    tls = Tls(ca=CA, **OURS)
    async with serve(tmp_path, "127.0.0.1", ssl.CERT_OPTIONAL) as (url, shown):
        provider = InterlinkProvider(Settings(connect(url, f"{url}/token"), "secret", tls=tls, limits=QUICK))
        await provider.check()
        await provider.close()
    token, ping = shown
    assert not token
    assert ping


@pytest.mark.parametrize(
    ("host", "server_name", "tls", "is_well"),
    [
        ("127.0.0.1", None, Tls(ca=CA, **OURS), True),
        ("backend.example", "backend.example", Tls(ca=CA, **OURS), True),
        ("backend.example", None, Tls(ca=CA, **OURS), False),
        ("127.0.0.1", None, Tls(ca=OTHER.certificate.decode(), **OURS), False),
        ("127.0.0.1", None, Tls(**OURS), False),
        ("127.0.0.1", None, Tls(ca=CA, **client_of(OTHER)), False),
        ("127.0.0.1", None, Tls(ca=CA), False),
    ],
)
async def test_both_sides_must_show_a_certificate_of_the_right_authority(
    tmp_path: Path, host: str, server_name: str | None, tls: Tls, is_well: bool
) -> None:
    async with serve(tmp_path, host) as (url, _):
        own = Interlink(url=url, tls=backend_kinds.Tls(server_name=server_name))
        provider = InterlinkProvider(Settings(own, tls=tls, limits=QUICK))
        if is_well:
            await provider.check()
        else:
            with pytest.raises(Unreachable):
                await provider.check()
        await provider.close()


@pytest.mark.parametrize(
    "tls",
    [
        Tls(ca="no PEM"),
        Tls(certificate="no PEM", key="no PEM"),
        Tls(certificate=OURS["certificate"], key=client_of(AUTHORITY)["key"]),
    ],
)
def test_what_is_no_certificate_with_its_key_is_refused_without_showing_it(tls: Tls) -> None:
    with pytest.raises(ValueError, match="`tls` must contain") as caught:
        InterlinkProvider(Settings(connect("https://backend.example"), tls=tls))
    assert not tls.key or tls.key not in str(caught.value)
    assert tls.key not in repr(tls) or not tls.key


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "100.100.100.200", "[fd00:ec2::254]"]
)
@pytest.mark.parametrize("part", ["url", "token"])
async def test_no_metadata_service_is_asked_whoever_says_where_the_backend_is(host: str, part: str) -> None:
    """Names are looked up anew for each connection, and whoever answers for them may say what he likes."""
    url = f"http://{host}:1" if part == "url" else "https://127.0.0.1:1"
    own = connect(url, f"https://{host}:1/token" if part == "token" else None)
    provider = InterlinkProvider(Settings(own, "s3cret-word", limits=replace(QUICK, attempts=1)))
    try:
        with pytest.raises(Unreachable) as caught:
            await provider.check()
    finally:
        await provider.close()
    assert ("metadata service" in caught.value.message) == (part == "url")
