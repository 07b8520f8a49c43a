"""Notices from a job's status to a real server, by HTTPS, and over an operator that is replaced while the server is away."""

from __future__ import annotations

import base64
import datetime
import functools
import ssl
from pathlib import Path

import pytest

from nestor.cluster import certificates
from nestor.kube import kinds
from nestor.operator.notices import post
from nestor.operator.notices.outbox import Outbox
from nestor.times import now
from tests.fakes.sink import FakeSink
from tests.unit.operator.notices.test_outbox import Stage

LOOPBACK = "127.0.0.1"


class Connected(Stage):
    """With requests that are really sent, also to loopback, which is all that tests have."""

    def start(self) -> None:
        super().start()
        self.outbox = Outbox(self.scene.context, functools.partial(post.post, explain=lambda _: None))
        self.outbox.on_report(lambda namespace, name: None)

    def point_to(self, url: str, **fields: object) -> None:
        """Have the sink `a` there."""
        self.scene.set_class("Baseline", notices={"sinks": [{"name": "a", "url": url, **fields}]})


@pytest.mark.parametrize("mode", ["Structured", "Binary"])
async def test_by_https_with_an_authority_and_a_token_of_its_own(tmp_path: Path, mode: str) -> None:
    authority = certificates.new_authority("sink-ca", now())
    leaf = certificates.new_leaf(authority, "sink", now(), datetime.timedelta(days=1), hosts=[LOOPBACK])
    (tmp_path / "sink.pem").write_bytes(leaf.certificate + leaf.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "sink.pem")
    stage, sink = Connected(), FakeSink()
    data = {"token": base64.b64encode(b"s3cret").decode(), "ca": base64.b64encode(authority.certificate).decode()}
    stage.scene.api.put(kinds.SECRET, {"metadata": {"name": "a", "namespace": "nestor-system"}, "data": data})
    token = {"tokenRef": {"name": "a", "key": "token"}}
    async with sink.serve(LOOPBACK, tls=tls) as url:
        stage.point_to(url, mode=mode, giveUpAfterSeconds=0, **token)
        await stage.write("True", "Unknown")
        async with stage.running():
            await stage.settle()
            assert stage.look()["a Ready"] == ("Undelivered", "its certificate is not trusted, or it does not speak TLS")
            assert sink.asked == []
            stage.point_to(url, mode=mode, caRef={"name": "a", "key": "ca"}, **token)
            await stage.write("False", "True")
            await stage.settle()
    assert stage.look()["a Succeeded"] == ("Delivered", "")
    assert (sink.types(), sink.tokens) == (["succeeded"], ["Bearer s3cret"])
    assert sink.events[0]["data"]["name"] == "hello"


async def test_a_server_that_is_away_while_the_operator_is_replaced() -> None:
    stage, before, after = Connected(), FakeSink(), FakeSink()
    before.faults = [before.hang]
    async with before.serve(LOOPBACK) as url:
        stage.point_to(url)
        await stage.write("True", "Unknown")
        async with stage.running():
            await stage.until(lambda: len(before.asked) == 1)
    stage.start()
    await stage.look_again()
    async with stage.running():
        await stage.until(lambda: bool(vars(stage.outbox)["_reports"]))
        await stage.look_again()
        assert stage.look()["a Ready"] == ("Pending", "it cannot be reached: Connection refused")
        async with after.serve(LOOPBACK, int(url.rsplit(":", 1)[1].partition("/")[0])):
            await stage.settle()
    assert stage.look()["a Ready"] == ("Delivered", "")
    assert [item["id"] for item in after.events] == [before.asked[0]["id"]]
