"""Traces of how jobs start: what they say, and that they arrive, by OTLP over HTTP, at somebody who decodes them."""

from __future__ import annotations

import asyncio
import datetime
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Wired

from nestor import times
from nestor.operator import traces
from nestor.operator.exporting import SdkSender
from nestor.operator.traces import RECENT_SECONDS, ROOT, Span, Traces, plan_trace
from tests.unit.operator.builders import build_job

Object = dict[str, Any]
BEGIN = times.now() - datetime.timedelta(seconds=60)


def at(seconds: int) -> str:
    """So long after the job's creation."""
    return times.write(BEGIN + datetime.timedelta(seconds=seconds))


def step(name: str, began: int, ended: int | None, **more: Any) -> Object:
    """A step of two attempts."""
    found = {"name": name, "type": "helm", "state": "Succeeded", "attempt": 2, "startTime": at(began), **more}
    return found if ended is None else found | {"completionTime": at(ended)}


JOB = build_job()
JOB["metadata"]["creationTimestamp"] = at(0)
READY = {
    "className": "default",
    "startTime": at(5),
    "timings": {"admitted": at(5), "clusterReady": at(12), "stepsApplied": at(20), "exposed": at(22), "ready": at(22)},
    "steps": [step("database", 13, 17), step("web", 17, 20)],
}
FAILED = {
    "startTime": at(5),
    "completionTime": at(30),
    "timings": {"admitted": at(5), "clusterReady": at(12)},
    "steps": [step("database", 13, 30, state="Failed"), step("web", 30, None)],
    "conditions": [{"type": "Succeeded", "status": "False", "reason": "StepFailed"}],
}


def show(spans: list[Span]) -> list[tuple[str, str, int, int, str]]:
    """Name, parent, begin and end as seconds after the creation, and the error."""
    zero = times.read(at(0)).timestamp()
    return [(item.name, item.parent, int(item.begin - zero), int(item.end - zero), item.error) for item in spans]


def test_a_trace_has_a_span_for_each_stage_and_step() -> None:
    assert show(plan_trace(JOB, READY)) == [
        (ROOT, "", 0, 22, ""),
        ("Admitted", ROOT, 0, 5, ""),
        ("ClusterReady", ROOT, 5, 12, ""),
        ("StepsApplied", ROOT, 13, 20, ""),
        ("Exposed", ROOT, 5, 22, ""),
        ("step database", "StepsApplied", 13, 17, ""),
        ("step web", "StepsApplied", 17, 20, ""),
    ]


def test_a_job_that_failed_before_it_was_ready_says_why() -> None:
    assert show(plan_trace(JOB, FAILED)) == [
        (ROOT, "", 0, 30, "StepFailed"),
        ("Admitted", ROOT, 0, 5, ""),
        ("ClusterReady", ROOT, 5, 12, ""),
        ("step database", ROOT, 13, 30, "failed"),
    ]


def test_a_job_that_is_still_starting_has_none() -> None:
    timings = {"admitted": at(5)}
    assert plan_trace(JOB, {}) == plan_trace(JOB, {"timings": timings, "startTime": at(5)}) == []


class Receiver:
    """An OTLP/HTTP receiver."""

    def __init__(self) -> None:
        self.spans: list[Wired] = []
        self.services: set[str] = set()
        self.came = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        """`POST /v1/traces`, as protobuf."""
        found = ExportTraceServiceRequest.FromString(await request.read())
        for resource in found.resource_spans:
            self.services |= {item.value.string_value for item in resource.resource.attributes if item.key == "service.name"}
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        self.came.set()
        return web.Response(body=b"", content_type="application/x-protobuf")


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    """One that the SDK knows by the usual variable."""
    made, app = Receiver(), web.Application()
    app.router.add_post("/v1/traces", made.take)
    async with TestServer(app) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", str(server.make_url("")).rstrip("/"))
        yield made


async def test_a_trace_arrives_whole_and_again_as_the_same_after_a_restart(receiver: Receiver) -> None:
    for _ in range(2):
        traces = Traces(SdkSender())
        traces.note(JOB, {"timings": {"admitted": at(5)}})
        for _ in range(3):
            traces.note(JOB, READY)
        await traces.close()
    first, second = receiver.spans[:7], receiver.spans[7:]
    assert [span.SerializeToString() for span in first] == [span.SerializeToString() for span in second]
    assert receiver.services == {"nestor-operator"}
    assert len({span.trace_id for span in first}) == 1
    by_name = {span.name: span for span in first}
    root, steps, web_ = by_name[ROOT], by_name["StepsApplied"], by_name["step web"]
    assert (root.parent_span_id, steps.parent_span_id, web_.parent_span_id) == (b"", root.span_id, steps.span_id)
    assert (root.end_time_unix_nano - root.start_time_unix_nano) / 1e9 == 22
    about = {item.key: item.value.string_value or item.value.int_value for item in [*root.attributes, *web_.attributes]}
    assert about["nestor.job.name"] == "hello"
    assert (about["nestor.step.type"], about["nestor.step.attempts"]) == ("helm", 2)


async def test_a_failure_is_an_error(receiver: Receiver) -> None:
    traces = Traces(SdkSender())
    traces.note(JOB, FAILED)
    await traces.close()
    assert {span.name: span.status.message for span in receiver.spans if span.status.code == 2} == {
        ROOT: "StepFailed",
        "step database": "failed",
    }


async def test_what_is_long_over_is_not_sent(receiver: Receiver) -> None:
    old = {"timings": {"ready": times.write(times.now() - datetime.timedelta(seconds=RECENT_SECONDS + 60))}}
    job = {**JOB, "metadata": JOB["metadata"] | {"creationTimestamp": old["timings"]["ready"]}}
    traces = Traces(SdkSender())
    traces.note(job, old)
    await traces.close()
    assert receiver.spans == []


def test_without_an_endpoint_nothing_is_loaded_or_sent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Traces().note(JOB, READY)
    assert caplog.records == []
    code = "import sys, nestor.operator.main; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class StuckSender:
    """One whose receiver does not answer."""

    def __init__(self) -> None:
        self.may_end, self.has_ended = threading.Event(), threading.Event()

    def send(self, uid: str, spans: Sequence[Span]) -> None:
        """Nothing is sent."""

    def close(self) -> None:
        """It takes long."""
        self.may_end.wait(60)
        self.has_ended.set()


def test_the_process_does_not_wait_for_traces_that_cannot_be_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(traces, "END_SECONDS", 0.01)
    sender = StuckSender()
    asyncio.run(Traces(sender).close())
    was_awaited = sender.has_ended.is_set()
    sender.may_end.set()
    assert sender.has_ended.wait(60)
    assert not was_awaited
    assert "the last traces could not be sent" in caplog.text


def test_a_sender_that_fails_at_the_end_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("broken")

    sender = StuckSender()
    monkeypatch.setattr(sender, "close", fail)
    asyncio.run(Traces(sender).close())
    assert "ValueError: broken" in caplog.text
