"""Request heads are parsed, the bytes after them are not."""

import asyncio

import h11
import pytest

from nestor.kube.serving import http


async def read(*pieces: bytes, end: bool = True) -> http.Request | None:
    """The request in these pieces."""
    reader = asyncio.StreamReader()
    for piece in pieces:
        reader.feed_data(piece)
    if end:
        reader.feed_eof()
    return await http.read_request(reader)


async def test_an_upgrade_with_early_bytes() -> None:
    head = (
        b"POST /exec/shop/web/app?command=a+b&command=%3B&input=1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        b"Upgrade: SPDY/3.1\r\nAuthorization: Bearer x\r\n\r\n"
    )
    request = await read(head, b"\x80\x03early")
    assert request is not None
    assert request.path == ["exec", "shop", "web", "app"]
    assert request.query == {"command": ["a b", ";"], "input": ["1"]}
    assert request.get("input") == "1"
    assert request.is_upgrade
    assert request.rest == b"\x80\x03early"


async def test_an_encoded_slash_stays_within_its_part() -> None:
    request = await read(b"GET /containerLogs/shop/..%2Fother/app HTTP/1.1\r\nHost: x\r\n\r\n")
    assert request is not None
    assert request.path == ["containerLogs", "shop", "../other", "app"]
    assert not request.is_upgrade


async def test_a_caller_that_hangs_up() -> None:
    assert await read(b"GET / HT") is None


@pytest.mark.parametrize("data", [b"\x16\x03\x01 nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20000])
async def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        await read(data)
