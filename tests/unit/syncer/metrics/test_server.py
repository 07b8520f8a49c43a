"""The metrics API waits as long as the nested cluster does not say how its API server shows who it is."""

import asyncio
import datetime
import ssl
from pathlib import Path
from typing import Any, cast

import pytest

from nestor.api.contracts.cluster import KUBELET_CERTIFICATE, KUBELET_KEY
from nestor.cluster import certificates
from nestor.kube import Api, kinds
from nestor.syncer.metrics import server
from nestor.syncer.metrics.server import MetricsServer, read_proxy
from tests.fakes.api import MemoryApi
from tests.waiting import comes_true

AUTHORITY = "requestheader-client-ca-file"
NAMES = "requestheader-allowed-names"


def build(**data: Any) -> MemoryApi:
    api = MemoryApi()
    meta = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    api.put(kinds.CONFIG_MAP, {"metadata": meta, "data": {key.replace("_", "-"): item for key, item in data.items()}})
    return api


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("", []),
        ("[]", []),
        ('["a","b"]', ["a", "b"]),
        ("5", None),
        ("x", None),
        ("[", None),
        ("[1]", None),
        ("[[]]", None),
        ('{"a":1}', None),
        ('"a"', None),
    ],
)
async def test_what_the_api_server_says_of_itself(names: str, expected: list[str] | None) -> None:
    api = build(**{AUTHORITY: "pem", NAMES: names})
    assert await read_proxy(cast(Api, api)) == (None if expected is None else ("pem", expected))


async def test_nobody_may_call_while_the_authority_is_none() -> None:
    assert await read_proxy(cast(Api, MemoryApi())) is None
    assert await read_proxy(cast(Api, build())) is None
    assert await read_proxy(cast(Api, build(**{AUTHORITY: "\u00fc"}))) is None


async def test_an_authority_that_is_none_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "_KEEP_SECONDS", 0.01)
    monkeypatch.setattr(server, "read_authority", lambda _: "")
    authority = certificates.new_authority("nested", datetime.datetime.now(datetime.UTC))
    pair = certificates.new_leaf(authority, "nestor:kubelet", datetime.datetime.now(datetime.UTC), hosts=["127.0.0.1"])
    (tmp_path / KUBELET_CERTIFICATE).write_bytes(pair.certificate)
    (tmp_path / KUBELET_KEY).write_bytes(pair.key)
    with pytest.raises(ssl.SSLError):
        server.build_tls(tmp_path, "junk")

    async def find_address() -> str:
        return "127.0.0.1"

    for junk in ("junk", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        caplog.clear()
        made = MetricsServer(cast(Any, None), cast(Api, build(**{AUTHORITY: junk})), tmp_path, find_address)
        task = asyncio.create_task(made.serve(0))
        await comes_true(lambda: caplog.text.count("cannot be served") >= 2 or task.done())  # noqa: B023
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
