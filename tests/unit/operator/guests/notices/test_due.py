"""Which notices a job owes, and the CloudEvent that a receiver reads, by the library's own reader."""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection
from typing import Any

import pytest
from cloudevents.core.bindings import http

from nestor.api import conditions
from nestor.api.job_status import MESSAGE_LIMIT
from nestor.operator.guests.notices import update_notices, write_event
from tests.unit.operator.builders import Object, build_job

T1, T2, T3 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"


def status(ready: str = "", succeeded: str = "", *, ready_time: str = T1, message: str = "m", **more: Any) -> Object:
    found = []
    for kind, value, time in ((conditions.READY, ready, ready_time), (conditions.SUCCEEDED, succeeded, T2)):
        if value:
            about = {"reason": f"{kind}{value}", "message": message, "lastTransitionTime": time}
            found.append({"type": kind, "status": value} | about)
    return {"conditions": found, **more}


def update(old: Object, new: Object, *sinks: str, settled: Collection[tuple[str, str]] = ()) -> list[Object]:
    return update_notices(old, new, "u", sinks, settled)


def told(notices: list[Object]) -> list[str]:
    return [item["type"] for item in notices]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, status("False", "Unknown"), []),
        ({}, status("True", "Unknown"), ["Ready"]),
        (status("False", "Unknown"), status("True", "Unknown"), ["Ready"]),
        (status("True", "Unknown"), status("True", "Unknown"), []),
        (status("True", "Unknown"), status("False", "Unknown"), []),
        (status("True", "Unknown"), status("False", "True"), ["Succeeded"]),
        (status("True", "Unknown"), status("False", "False"), ["Failed"]),
        (status("False", "False"), status("False", "True"), ["Succeeded"]),
        (status("False", "True"), status("False", "True"), []),
        (status("False", "True"), status("False", "Unknown"), []),
        ({}, status("True", "True"), ["Ready", "Succeeded"]),
        (status("False"), status("False"), []),
    ],
)
def test_a_notice_comes_to_be_when_a_condition_does(old: Object, new: Object, expected: list[str]) -> None:
    assert told(update(old, new, "a")) == expected
    assert update(old, new) == [], "no sinks"


def test_what_is_kept_of_it() -> None:
    about = {"type": "Ready", "id": f"u.ready.{T1}", "time": T1, "reason": "ReadyTrue"}
    assert update({}, status("True", message="x" * 2 * MESSAGE_LIMIT), "a", "b") == [
        {**about, "message": "x" * MESSAGE_LIMIT, "sinks": ["a", "b"]}
    ]


def test_it_is_kept_until_each_sink_has_it_whatever_the_condition_says_then() -> None:
    first = update({}, status("True"), "a", "b")
    again = update(status("True", notices=first), status("False", "True"), "a", "b", settled={("a", f"u.ready.{T1}")})
    assert [(item["type"], item["sinks"]) for item in again] == [("Ready", ["b"]), ("Succeeded", ["a", "b"])]
    last = status("False", "True", notices=again)
    assert update(last, last, "a", "b", settled={(name, item["id"]) for name in "ab" for item in again}) == []


def test_of_a_type_only_the_latest_is_kept() -> None:
    first = update({}, status("True"), "a")
    again = update(status("False", notices=first), status("True", ready_time=T3), "a")
    assert [(item["type"], item["time"]) for item in again] == [("Ready", T3)]


def test_a_sink_that_is_new_is_told_nothing_old_and_one_that_is_gone_nothing_at_all() -> None:
    notices = update({}, status("True"), "a")
    now = status("True", notices=notices)
    assert update(now, now, "a", "b") == notices
    assert update(now, now, "b") == []
    assert update_notices(now, now, "u", None, ()) == notices, "its class is missing, perhaps only for a moment"


def test_a_receiver_reads_it() -> None:
    notice = {"type": "Failed", "id": "i", "time": T1, "reason": "StepFailed", "message": "at üß", "sinks": ["a"]}
    facts = {"url": "http://hello.test/", "command": "Hello", "startTime": T1}
    job = build_job() | {"status": facts | {"namespace": "nestor-x", "steps": [{"message": "no"}]}}
    message = http.HTTPMessage({"content-type": "application/cloudevents+json"}, json.dumps(write_event(job, notice)).encode())
    event = http.from_http_event(message)
    assert event.get_attributes() == {
        "specversion": "1.0",
        "id": "i",
        "source": "/apis/nestor.dev/v1alpha1/namespaces/team-a/nestedappjobs/hello",
        "type": "dev.nestor.job.failed",
        "subject": "team-a/hello",
        "time": datetime.datetime(2026, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        "datacontenttype": "application/json",
    }
    assert event.get_data() == {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "namespace": "team-a",
        "name": "hello",
        "uid": "1234",
        "className": "default",
        "reason": "StepFailed",
        "message": "at üß",
        "hostNamespace": "nestor-x",
        **facts,
    }
