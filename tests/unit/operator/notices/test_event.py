"""The CloudEvent of a notice: the same whenever it is sent, and read by the library's own reader."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from cloudevents.core.bindings import http

from nestor.api.notices import Sink
from nestor.operator.notices.event import build_request, write_letter
from tests.unit.operator.builders import Object, build_job

TIME = "2026-01-01T00:00:01Z"
NOTICE = {"sink": "portal", "type": "Ready", "id": f"1234.ready.{TIME}", "time": TIME, "reason": "AppReady", "summary": "at üß"}
STATUS = {
    "url": "http://hello.test/",
    "namespace": "nestor-x",
    "command": "Hello",
    "startTime": TIME,
    "steps": [{"message": "no"}],
}
DATA = {
    "apiVersion": "nestor.dev/v1alpha1",
    "kind": "NestedAppJob",
    "namespace": "team-a",
    "name": "hello",
    "uid": "1234",
    "className": "default",
    "reason": "AppReady",
    "message": "at üß",
    "command": "Hello",
    "url": "http://hello.test/",
    "hostNamespace": "nestor-x",
    "startTime": TIME,
}


def request(mode: str = "Structured", source: str = "", **notice: Any) -> http.HTTPMessage:
    sink = Sink.model_validate({"name": "portal", "url": "https://portal.test/", "mode": mode})
    return build_request(write_letter(build_job(), STATUS, NOTICE | notice, source), sink)


@pytest.mark.parametrize("mode", ["Structured", "Binary"])
def test_a_receiver_reads_it(mode: str) -> None:
    event = http.from_http_event(request(mode))
    assert event.get_attributes() == {
        "specversion": "1.0",
        "id": f"1234.ready.{TIME}",
        "source": "/apis/nestor.dev/v1alpha1/namespaces/team-a/nestedappjobs/hello",
        "type": "dev.nestor.job.ready",
        "subject": "team-a/hello",
        "time": datetime.datetime(2026, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        "datacontenttype": "application/json",
    }
    assert event.get_data() == DATA


def test_the_modes_differ_in_where_the_attributes_are() -> None:
    structured, binary = request(), request("Binary")
    assert structured.headers == {"content-type": "application/cloudevents+json"}
    assert json.loads(structured.body)["time"] == TIME
    assert binary.headers["content-type"] == "application/json"
    assert (binary.headers["ce-type"], binary.headers["ce-time"]) == ("dev.nestor.job.ready", TIME)
    assert json.loads(binary.body) == DATA


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("Ready", "dev.nestor.job.ready"), ("Succeeded", "dev.nestor.job.succeeded"), ("Failed", "dev.nestor.job.failed")],
)
def test_types(kind: str, expected: str) -> None:
    assert json.loads(request(type=kind).body)["type"] == expected


@pytest.mark.parametrize("source", ["https://a.test", "https://a.test/"])
def test_the_source_says_which_cluster(source: str) -> None:
    found = json.loads(request(source=source).body)["source"]
    assert found == "https://a.test/apis/nestor.dev/v1alpha1/namespaces/team-a/nestedappjobs/hello"


def test_it_is_the_same_each_time() -> None:
    made: list[Object] = [json.loads(request().body) for _ in range(2)]
    assert made[0] == made[1]
