"""Pushing to a registry, against a small one that keeps everything in memory."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from devcluster.build import oci, references
from devcluster.build.commands import BuildError
from devcluster.build.oci import Entry, Image, Layer
from devcluster.build.registry import Registry

REFERENCE = "docker.io/library/thing:1"


class Handler(BaseHTTPRequestHandler):
    """The few requests of the distribution protocol that a push makes."""

    content: dict[str, bytes]
    puts: list[str]

    def do_HEAD(self) -> None:
        body = self.content.get(self.path)
        self._answer(200 if body is not None else 404, body or b"")

    def do_POST(self) -> None:
        self.send_response(202)
        self.send_header("Location", f"http://elsewhere{self.path}1?state=s")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        if "/uploads/" in path:
            digest = query.rpartition("digest=")[2].replace("%3A", ":")
            assert digest == f"sha256:{hashlib.sha256(body).hexdigest()}"
            path = path.partition("/uploads/")[0] + f"/{digest}"
        self.content[path] = body
        self.puts.append(path)
        self._answer(201, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(body).hexdigest()}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output quiet."""


@pytest.fixture
def server() -> Iterator[type[Handler]]:
    handler = type("Fresh", (Handler,), {"content": {}, "puts": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        handler.address = f"127.0.0.1:{running.server_port}"  # type: ignore[attr-defined]
        yield handler
        running.shutdown()
        thread.join()


def archive(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / f"{content.decode()}.tar"
    shared = Layer([Entry("shared", content=b"the same")])
    oci.write(Image(REFERENCE, [shared, Layer([Entry("own", content=content)])]), path)
    return path


def test_an_image_is_pushed_once_and_then_only_what_is_new(server: type[Handler], tmp_path: Path) -> None:
    registry = Registry(server.address)  # type: ignore[attr-defined]
    reference = references.parse(REFERENCE)
    assert registry.push(archive(tmp_path, b"one"), reference)
    assert server.puts[-1] == "/v2/library/thing/manifests/1"
    assert len(server.puts) == 4
    assert not registry.push(archive(tmp_path, b"one"), reference)
    assert len(server.puts) == 4
    assert registry.push(archive(tmp_path, b"two"), reference)
    assert len(server.puts) == 7, "the shared layer must not be sent again"


def test_a_registry_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="does not answer"):
        Registry("http://127.0.0.1:9").push(archive(tmp_path, b"one"), references.parse(REFERENCE))
