"""Tokens by client credentials: fetched once, renewed in time, and never shown."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api.backend_kinds import Interlink, Oidc
from nestor.api.model import SecretKey
from nestor.overflow.interlink import credentials as module
from nestor.overflow.interlink.settings import Settings
from nestor.pods.providers.errors import ProviderError, Unauthorized, Unreachable
from tests.unit.overflow.interlink.conftest import Backend, Clock

SECRET = "s3cret/with+signs"


class TokenServer:
    """Grants token after token. `answer` may answer instead."""

    def __init__(self) -> None:
        self.url = ""
        self.granted: list[str] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.seconds: float | None = 3600
        self.answer: Callable[[], Awaitable[web.Response]] | None = None

    async def handle(self, request: web.Request) -> web.Response:
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.asked.append((request.headers.get("Authorization", ""), form))
        if self.answer:
            return await self.answer()
        self.granted.append(f"token-number-{len(self.granted)}")
        times = {"expires_in": self.seconds} if self.seconds is not None else {}
        return web.json_response({"access_token": self.granted[-1], "token_type": "Bearer", **times})


@pytest.fixture
async def identity() -> AsyncIterator[TokenServer]:
    made, app = TokenServer(), web.Application()
    app.router.add_post("/token", made.handle)
    async with TestServer(app) as server:
        made.url = str(server.make_url("/token"))
        yield made


def _oidc(identity: TokenServer, **fields: Any) -> dict[str, Any]:
    given = {"token_url": identity.url, "client_id": "nestor:1", "client_secret_ref": SecretKey(name="a", key="b")}
    return {"oidc": Oidc(**given | fields), "client_secret": SECRET}


def _used(backend: Backend) -> list[str]:
    return [headers["Authorization"] for headers in backend.fake.headers]


async def test_a_token_is_fetched_once_for_all_requests(backend: Backend, identity: TokenServer) -> None:
    provider = backend.connect(**_oidc(identity, scopes=("pods", "logs"), audience="interlink"))
    await asyncio.gather(*(provider.check() for _ in range(5)))
    await provider.check()
    assert set(_used(backend)) == {"Bearer token-number-0"}
    ((header, form),) = identity.asked
    # Encoded like form fields first: RFC 6749, 2.3.1.
    assert base64.b64decode(header.removeprefix("Basic ")).decode() == "nestor%3A1:s3cret%2Fwith%2Bsigns"
    assert form == {"grant_type": "client_credentials", "scope": "pods logs", "audience": "interlink"}


@pytest.mark.parametrize(
    ("seconds", "after", "renewed"),
    [
        (3600, 3500, False),
        (3600, 3580, True),
        (40, 15, False),
        (40, 25, True),
        (None, 200, False),
        (None, 290, True),
        (0, 0, True),
    ],
)
async def test_tokens_are_renewed_before_they_expire(
    backend: Backend, identity: TokenServer, monkeypatch: pytest.MonkeyPatch, seconds: float | None, after: float, renewed: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    identity.seconds = seconds
    provider = backend.connect(**_oidc(identity))
    await provider.check()
    clock.now += after
    await provider.check()
    assert (len(identity.granted) == 2) is renewed


async def test_a_token_that_the_backend_refuses_is_replaced_once(backend: Backend, identity: TokenServer) -> None:
    provider = backend.connect(**_oidc(identity))
    await provider.check()

    async def refuse(request: web.Request) -> web.StreamResponse | None:
        is_old = request.headers["Authorization"] == "Bearer token-number-0"
        return web.Response(status=401, text="revoked") if is_old else None

    backend.fake.fault = refuse
    await asyncio.gather(*(provider.check() for _ in range(3)))
    assert identity.granted == ["token-number-0", "token-number-1"]

    async def refuse_all(_: web.Request) -> web.StreamResponse | None:
        return web.Response(status=401, text="no account")

    backend.fake.fault = refuse_all
    backend.fake.asked.clear()
    with pytest.raises(Unauthorized, match="no account"):
        await provider.check()
    assert len(backend.fake.asked) == 2


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (401, {"error": "invalid_client", "error_description": f"not {SECRET}"}, Unauthorized, "not ***"),
        (400, {"error": "invalid_scope"}, Unauthorized, "invalid_scope"),
        (403, "forbidden", Unauthorized, "credentials: forbidden"),
        (500, "oops", Unreachable, "answered 500 without a token"),
        (302, "", Unreachable, "answered 302 without a token"),
        (200, "<html>", Unreachable, "answered 200 without a token"),
        (200, {}, Unreachable, "without a token"),
        (200, {"access_token": ""}, Unreachable, "without a token"),
        (200, {"access_token": "two\r\nlines"}, Unreachable, "without a token"),
        (200, {"access_token": "x" * 100_000}, Unreachable, "without a token"),
        (200, {"access_token": "x", "expires_in": -5}, Unreachable, "without a token"),
    ],
)
async def test_token_servers_that_grant_nothing_are_told_apart(
    backend: Backend, identity: TokenServer, status: int, body: Any, error: type[ProviderError], words: str
) -> None:
    async def answer() -> web.Response:
        headers = {"Location": "/elsewhere"} if status == 302 else {}
        return web.Response(status=status, text=body if isinstance(body, str) else json.dumps(body), headers=headers)

    identity.answer = answer
    with pytest.raises(error) as caught:
        await backend.connect(**_oidc(identity)).check()
    assert words in caught.value.message
    assert SECRET not in caught.value.message
    assert backend.fake.asked == []


async def test_a_token_server_that_does_not_answer_is_named(backend: Backend, identity: TokenServer) -> None:
    async def hang() -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    identity.answer = hang
    with pytest.raises(Unreachable, match=r"in time|the token server does not answer"):
        await backend.connect(**_oidc(identity), call_seconds=0.1).check()
    with pytest.raises(Unreachable, match="the token server does not answer"):
        await backend.connect(**_oidc(identity, token_url="http://127.0.0.1:1/token")).check()


async def test_secrets_are_not_logged(backend: Backend, identity: TokenServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    given = "a-token-from-a-file"
    for provider in (backend.connect(**_oidc(identity)), backend.connect(bearer=lambda: given)):
        await provider.check()
        backend.fake.fault = _refuse
        with pytest.raises(Unauthorized):
            await provider.check()
        backend.fake.fault = None
    assert _used(backend)[-1] == f"Bearer {given}"
    text = "".join(record.getMessage() for record in caplog.records)
    assert not [secret for secret in (SECRET, given, *identity.granted) if secret in text]


async def _refuse(_: web.Request) -> web.StreamResponse | None:
    return web.Response(status=401, text="no")


def test_secrets_are_not_part_of_what_settings_print(identity: TokenServer) -> None:
    assert SECRET not in repr(Settings(Interlink(url=identity.url), SECRET))
