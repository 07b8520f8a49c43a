"""One POST, to a real server, which may do whatever it likes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from nestor.operator.notices import post

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def anywhere(_: str) -> None:
    """Loopback is all that tests have."""


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    """A server's URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/events"
    finally:
        await runner.cleanup()


def answering(status: int, text: str = "", **headers: str) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=text, headers=headers)

    return answer


async def fails(url: str, explain: post.Explain = anywhere, **fields: object) -> post.Undelivered:
    with pytest.raises(post.Undelivered) as caught:
        await post.post(post.Request(url, {}, b"x", **fields), explain)  # type: ignore[arg-type]
    return caught.value


async def test_it_is_what_was_to_be_sent() -> None:
    got: list[tuple[str, str, str, bytes]] = []

    async def answer(request: web.Request) -> web.Response:
        headers = request.headers
        got.append((request.method, headers["content-type"], headers.get("Authorization", ""), await request.read()))
        return web.Response(status=202)

    async with serving(answer) as url:
        await post.post(post.Request(url, {"content-type": "application/cloudevents+json"}, b"{}", "s3cret"), anywhere)
        await post.post(post.Request(url, {"content-type": "application/json"}, b"[]"), anywhere)
    assert got == [("POST", "application/cloudevents+json", "Bearer s3cret", b"{}"), ("POST", "application/json", "", b"[]")]


@pytest.mark.parametrize(
    ("status", "is_final"),
    [(301, False), (400, True), (401, False), (404, False), (410, True), (413, True), (422, True), (429, False), (500, False)],
)
async def test_any_other_answer_is_a_failure_that_tells_users_no_more_than_its_number(status: int, is_final: bool) -> None:
    async with serving(answering(status, "inner secret")) as url:
        failure = await fails(url)
    assert (failure.problem, failure.details, failure.is_final) == (f"it answers with status {status}", "inner secret", is_final)


async def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(answer) as url:
        assert (await fails(url)).problem == "it answers with status 307"
    assert asked == ["/events"]


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_without_an_end_is_not_read(status: int) -> None:
    sent = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while sent < 2**30:
                await response.write(b"x" * 65536)
                sent += 65536
        return response

    async with asyncio.timeout(30), serving(answer) as url:
        if status == 200:
            await post.post(post.Request(url, {}, b"x"), anywhere)
        else:
            assert len((await fails(url)).details) <= post.SAID_BYTES
    assert sent < 2**30


async def test_one_that_does_not_answer_in_time() -> None:
    is_over = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        await is_over.wait()
        return web.Response()

    async with serving(answer) as url:
        async with asyncio.timeout(10):
            failure = await fails(url, timeout_seconds=0.2)
        is_over.set()
    assert (failure.problem, failure.is_final) == ("it does not answer within 0.2 s", False)


async def test_one_that_is_not_there() -> None:
    async with serving(answering(200)) as url:
        pass
    failure = await fails(url)
    assert failure.problem == "it cannot be reached: Connection refused"
    assert "127.0.0.1" in failure.details


async def test_one_that_hangs_up() -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with serving(answer) as url:
        assert (await fails(url)).problem == "it cannot be reached"


async def test_a_name_that_does_not_exist() -> None:
    assert (await fails("http://sink.invalid/")).problem == "its name cannot be resolved"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_the_operators_own_node_and_the_cloud_are_never_connected_to(host: str) -> None:
    """By address, and by a name whose address it is."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response()

    async with serving(answer) as url:
        failure = await fails(url.replace("127.0.0.1", host), post.explain_refusal)
    assert failure.problem == "its address is not one that notices are sent to"
    assert asked == []


async def test_a_server_without_tls_gets_nothing_that_was_meant_for_one_with_it() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response()

    async with serving(answer) as url:
        failure = await fails(url.replace("http:", "https:"), token="s3cret")
    assert failure.problem == "its certificate is not trusted, or it does not speak TLS"
    assert asked == []


@pytest.mark.parametrize("ca", ["no certificate", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "ü"])
async def test_authorities_that_are_no_certificates(ca: str) -> None:
    assert (await fails("https://portal.test/", ca=ca)).problem == "its certificate authorities cannot be read"


async def test_a_token_that_no_header_can_hold() -> None:
    async with serving(answering(200)) as url:
        assert (await fails(url, token="two\nlines")).problem == "it cannot be reached"


async def test_what_a_sink_says_is_one_line() -> None:
    async with serving(answering(500, "no\r\n2026-01-01 00:00:00,000 ERROR nestor: all is lost\n")) as url:
        assert (await fails(url)).details == "no 2026-01-01 00:00:00,000 ERROR nestor: all is lost"
