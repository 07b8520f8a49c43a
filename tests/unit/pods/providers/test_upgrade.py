"""Streams through API servers that are behind a proxy, or are known by another name than that of their URL."""

import asyncio
import base64
import contextlib
import datetime
import ssl
from pathlib import Path

import pytest

from nestor.cluster import certificates
from nestor.kube import Api, ApiError, kubeconfig
from nestor.pods.providers import upgrade
from nestor.pods.providers.base import Call
from nestor.pods.providers.upgrade import PodStreams

HEADERS = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1"), ("cookie", "session=1"), ("authorization", "Bearer theirs")]
CALL = Call("exec", "POST", [("command", "ls"), ("command", "-l a")], HEADERS)
NOW = datetime.datetime.now(datetime.UTC)
AUTHORITY = certificates.new_authority("far", NOW)


class Server:
    def __init__(self, folder: Path, answer: bytes) -> None:
        own = certificates.new_leaf(AUTHORITY, "far", NOW, hosts=["far.internal"])
        (folder / "own.pem").write_bytes(own.certificate + own.key)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "own.pem")
        self.answer = answer
        self.head = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        while data := await reader.read(100):
            writer.write(data)
        writer.close()


async def connect(url: str) -> Api:
    cluster = {"server": url, "tls-server-name": "far.internal"}
    cluster["certificate-authority-data"] = base64.b64encode(AUTHORITY.certificate).decode()
    content = kubeconfig.build(cluster, {"token": "ours"})
    return (await Api.from_kubeconfig(content, timeout=5)).with_limit(10_000)


async def test_a_stream_has_the_path_and_the_name_of_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n")
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=server.tls) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with (
            await connect(f"https://127.0.0.1:{port}/k8s/c-1") as api,
            PodStreams(api, lambda _: ("far", "web"), contextlib.nullcontext).open_stream({}, CALL) as connection,
        ):
            assert connection.head.startswith(b"HTTP/1.1 101")
            connection.writer.write(b"hello")
            assert await connection.reader.readexactly(5) == b"hello"
    lines = server.head.decode().split("\r\n")
    assert lines[0] == "POST /k8s/c-1/api/v1/namespaces/far/pods/web/exec?command=ls&command=-l+a HTTP/1.1"
    sent = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:] if line}
    assert sent["authorization"] == "Bearer ours"
    assert sent["host"] == f"127.0.0.1:{port}"
    assert "cookie" not in sent


async def test_a_refusal_is_the_servers_error(tmp_path: Path) -> None:
    body = b'{"kind": "Status", "reason": "NotFound", "message": "no such pod"}'
    server = Server(tmp_path, b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    async with (
        await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=server.tls) as listening,
        await connect(f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}") as api,
    ):
        with pytest.raises(ApiError, match="no such pod"):
            await upgrade.connect(api, CALL, "/api").__aenter__()


async def test_a_server_that_cannot_be_reached_in_time_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "_CONNECT_SECONDS", 0)
    async with await connect("https://127.0.0.1:1") as api:
        with pytest.raises(ApiError, match="API server: TimeoutError"):
            async with upgrade.connect(api, CALL, "/exec"):
                raise AssertionError("it was opened")
