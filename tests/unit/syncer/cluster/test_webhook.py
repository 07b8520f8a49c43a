"""How the nested API server is told to ask about new Services."""

import asyncio
import base64
import contextlib
import datetime
import io
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from nestor.api.contracts.cluster import KUBELET_CERTIFICATE, KUBELET_KEY
from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.kube.serving import http
from nestor.syncer.cluster import addresses, webhook
from tests.integration.apiserver import free_ports
from tests.waiting import eventually


def test_it_is_never_in_the_way() -> None:
    (hook,) = webhook.build_configuration(8085, b"certificate")["webhooks"]
    assert hook["failurePolicy"] == "Ignore"
    assert hook["sideEffects"] == "NoneOnDryRun"
    assert hook["timeoutSeconds"] > addresses.PATIENCE_SECONDS


def test_it_stays_on_loopback_and_accepts_one_certificate() -> None:
    (hook,) = webhook.build_configuration(8085, b"certificate")["webhooks"]
    assert hook["clientConfig"]["url"] == "https://127.0.0.1:8085/services"
    assert base64.b64decode(hook["clientConfig"]["caBundle"]) == b"certificate"
    assert "service" not in hook["clientConfig"]


@dataclass
class Hook:
    """A running webhook, and a client that believes its certificate."""

    url: str
    session: aiohttp.ClientSession
    serving: asyncio.Task[None]

    async def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
        async with self.session.request(method, self.url + path, data=None if body is None else io.BytesIO(body)) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[Hook]:
    """It answers with what it was asked."""
    now = datetime.datetime.now(datetime.UTC)
    authority = certificates.new_authority("nested", now)
    pair = certificates.new_leaf(authority, "nestor:kubelet", now, hosts=["127.0.0.1"])
    (tmp_path / KUBELET_CERTIFICATE).write_bytes(pair.certificate)
    (tmp_path / KUBELET_KEY).write_bytes(pair.key)

    async def review(content: Object) -> Object:
        return {"asked": content}

    (port,) = free_ports(1)
    task = asyncio.create_task(webhook.serve(port, tmp_path, review))
    tls = ssl.create_default_context(cadata=authority.certificate.decode())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
        made = Hook(f"https://127.0.0.1:{port}", session, task)

        async def is_up() -> bool:
            with contextlib.suppress(aiohttp.ClientConnectorError):
                return (await made.ask("GET", "/")) == (404, "not found")
            return False

        await eventually(is_up)
        yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_it_answers_one_review_after_another(hook: Hook) -> None:
    for number in range(3):
        body = json.dumps({"request": number, "padding": "x" * 200_000}).encode()
        status, text = await hook.ask("POST", "/services?timeout=5s", body)
        assert (status, json.loads(text)["asked"]["request"]) == (200, number)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/services", b"[]", 400),
        ("POST", "/services", b"{", 400),
        ("POST", "/services", b"[" * 100_000, 400),
        ("POST", "/services", b"x" * (4 * 2**20 + 1), 413),
        ("POST", "/other", b"{}", 404),
        ("GET", "/services", None, 405),
    ],
    ids=["a list", "broken", "deep", "large", "elsewhere", "a question"],
)
async def test_what_is_no_review(hook: Hook, method: str, path: str, body: bytes | None, status: int) -> None:
    with contextlib.suppress(aiohttp.ClientOSError):  # the server hangs up on what is too large
        assert (await hook.ask(method, path, body))[0] == status
    assert (await hook.ask("POST", "/services", b"{}"))[0] == 200


HEAD = b"POST /services HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n"


async def send(hook: Hook, body: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", int(hook.url.rpartition(":")[2]), ssl=tls)
    writer.write(body)
    await writer.drain()
    return reader, writer


async def test_a_body_that_does_not_come_to_its_end_is_given_up(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_BODY_SECONDS", 0.2)
    reader, writer = await send(hook, HEAD + b"x" * 1000)
    assert await reader.read() == b""
    writer.close()
    assert (await hook.ask("POST", "/services", b"{}"))[0] == 200


async def test_bodies_that_are_read_have_a_limit_together(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_BODIES_LIMIT", 5_000_000)
    made = [await send(hook, HEAD + b"x" * 1000) for _ in range(3)]
    ends = [asyncio.create_task(reader.read()) for reader, _ in made]
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    assert all(end.result().startswith(b"HTTP/1.1 503") for end in done)
    for _, writer in made:
        writer.close()
    await asyncio.gather(*ends, return_exceptions=True)
    assert (await hook.ask("POST", "/services", b'"' + b"x" * 250_000 + b'"'))[0] == 400
