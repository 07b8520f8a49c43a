"""One HTTP/1.1 exchange on a connection. Only the request head is parsed; who wants a body reads it."""

import asyncio
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

import h11

_CHUNK = 65536
_HEAD_SECONDS = 10
_BODY_SECONDS = 10
_HEAD_LIMIT = 64 * 1024


@dataclass(frozen=True)
class Request:
    """A request head, and the bytes that arrived right after it. Header names are in lower case."""

    method: str
    path: list[str]
    query: dict[str, list[str]]
    headers: list[tuple[str, str]]
    rest: bytes

    @property
    def is_upgrade(self) -> bool:
        """True if the caller asks to switch to another protocol."""
        return any(name == "upgrade" for name, _ in self.headers)

    @property
    def body_size(self) -> int | None:
        """The body's bytes as the caller announced them; None if it did not."""
        text = dict(self.headers).get("content-length", "")
        return int(text) if text.isascii() and text.isdigit() and "transfer-encoding" not in dict(self.headers) else None

    def get(self, name: str) -> str | None:
        """The first value of a query parameter, or None."""
        return self.query.get(name, [None])[0]


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request head, or None if the caller hung up. Raises `h11.RemoteProtocolError`, `TimeoutError`."""
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
    async with asyncio.timeout(_HEAD_SECONDS):
        while (event := parser.next_event()) is h11.NEED_DATA:
            data = await reader.read(_CHUNK)
            parser.receive_data(data)
            if not data:
                return None
    if not isinstance(event, h11.Request):
        return None
    target = urlsplit(event.target.decode("ascii"))
    return Request(
        method=event.method.decode("ascii"),
        path=[unquote(part) for part in target.path.split("/") if part],
        query=parse_qs(target.query, keep_blank_values=True),
        headers=[(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers],
        rest=parser.trailing_data[0],
    )


async def read_body(request: Request, reader: asyncio.StreamReader) -> bytes:
    """The announced body. Raises `OSError` if it does not come."""
    size = request.body_size or 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return request.rest[:size] + await reader.readexactly(max(0, size - len(request.rest)))
    except asyncio.IncompleteReadError as error:
        raise ConnectionResetError("the caller hung up within the body") from error


async def respond(writer: asyncio.StreamWriter, status: int, text: str, *, kind: str = "text/plain; charset=utf-8") -> None:
    """Send a response in one piece and announce that the connection closes."""
    body = text.encode()
    writer.write(
        f"HTTP/1.1 {status} \r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    )
    await writer.drain()


def stream_head() -> bytes:
    """The head of a chunked response, whose length is not known yet."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked response; an empty one ends it."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
