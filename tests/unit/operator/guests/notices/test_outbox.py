"""Which notices come to be, and what becomes of them: each is sent until it is taken, whatever fails."""

import asyncio
import base64
import contextlib
import copy
import datetime
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cloudevents.core.bindings import http

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.contracts import addresses
from nestor.api.job_status import MESSAGE_LIMIT
from nestor.api.times import timestamp
from nestor.kube import Conflict, Kind, kinds
from nestor.operator.guests import notices as outboxes
from nestor.operator.guests.notices import AT_ONCE, Outbox, update_notices, write_event
from nestor.operator.status.build import build_status
from nestor.operator.status.report import report
from tests.fakes.sink import FakeSink, answering, hang_up, make_tls
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import Scene
from tests.waiting import eventually, worked_off

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


LOOPBACK, LONG_AGO = "127.0.0.1", "2020-01-01T00:00:00Z"
PENDING = [("Ready", ["a"])]


EXPLAIN = addresses.explain_refusal


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is all that tests have."""
    monkeypatch.setattr(addresses, "explain_refusal", lambda address, own: None)


class Stage:
    """A job, whose status is written by passes, and an outbox beside them."""

    def __init__(self, **urls: str) -> None:
        self.scene = Scene()
        self.point_to(*({"name": name, "url": url} for name, url in urls.items()))
        self.scene.add_job()
        self.start()

    def start(self) -> None:
        """Have an operator that remembers nothing."""
        self.outbox = Outbox(self.scene.context)
        vars(self.outbox.queue).update(_first_delay=0.01, _max_delay=0.05)
        self.passes = 0
        self.scene.context.wake = self._wake

    def point_to(self, *sinks: Object) -> None:
        self.scene.set_class("Baseline", notices=list(sinks))

    def _wake(self, kind: Kind, name: str, namespace: str) -> None:
        assert (kind, namespace, name) == (kinds.NESTED_APP_JOB, "team-a", "hello")
        self.passes += 1

    @property
    def job(self) -> Object:
        found = self.scene.context.cache.jobs.get("hello", "team-a")
        assert found is not None
        return found

    def look(self) -> list[tuple[str, list[str]]]:
        return [(item["type"], item["sinks"]) for item in self.job["status"].get("notices") or []]

    def events(self) -> list[tuple[str, str]]:
        found = [item for key, item in self.scene.api.objects.items() if key[0] == "events"]
        return [(item["type"], item["message"]) for item in found if item["reason"] == "NoticeUndelivered"]

    async def write(self, ready: conditions.Status, succeeded: conditions.Status = "Unknown", time: str = "") -> None:
        """A pass that finds this."""
        found = [
            Condition(conditions.READY, ready, "AppReady", "it is up"),
            Condition(conditions.SUCCEEDED, succeeded, "Completed", "it is done"),
        ]
        await report(self.scene.context, [self.outbox], self.job, build_status(self.job, found, time or timestamp()))

    async def look_again(self) -> None:
        """A pass that finds nothing new but what the outbox has settled."""
        await report(self.scene.context, [self.outbox], self.job, self.job["status"])

    def drop_job(self) -> Object:
        gone = self.job
        self.scene.hide(kinds.NESTED_APP_JOB, gone)
        return gone

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.outbox.queue.run())
        try:
            async with asyncio.timeout(30):
                yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def settle(self) -> None:
        """Until nothing is on its way; then a pass."""
        await worked_off(self.outbox.queue)
        await self.look_again()

    async def fail(self) -> None:
        """Until one more attempt, begun after this, has failed."""
        before = self.outbox.queue.failed
        await until(lambda: self.outbox.queue.failed > before + 1)

    def is_empty(self) -> bool:
        return not vars(self.outbox)["_events"] and not vars(self.outbox)["_settled"]


@contextlib.asynccontextmanager
async def owing(*faults: Any, time: str = "") -> AsyncIterator[tuple[FakeSink, Stage]]:
    """A sink, which fails in these ways first, and a job that is ready, of which it is to be told."""
    sink = FakeSink()
    sink.faults = list(faults)
    async with sink.serve(LOOPBACK) as url:
        stage = Stage(a=url)
        await stage.write("True", time=time)
        yield sink, stage


async def until(look: Callable[[], bool]) -> None:
    async def there() -> bool:
        return look()

    await eventually(there, 20)


async def test_a_notice_is_in_the_write_that_tells_of_it_and_is_sent_once() -> None:
    async with owing() as (sink, stage):
        status = stage.scene.job["status"]
        assert conditions.is_true(status["conditions"], conditions.READY)
        assert ([item["sinks"] for item in status["notices"]], sink.asked) == ([["a"]], [])
        await stage.look_again()
        async with stage.running():
            await worked_off(stage.outbox.queue)
            assert stage.passes == 1
            # A pass whose write fails: the next one knows it still.
            stage.outbox.take(stage.job, stage.job["status"])
            await stage.settle()
            await stage.look_again()
            await stage.settle()
    assert sink.types() == ["ready"]
    assert "notices" not in stage.job["status"]
    assert stage.is_empty(), "nothing is remembered of what is done"


async def test_nothing_is_sent_of_what_could_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another pass may find something else."""
    stage = Stage(a="http://sink.invalid/")

    async def refuse(*_: Any, **__: Any) -> None:
        raise Conflict(409, "Conflict", "")

    monkeypatch.setattr(stage.scene.api, "apply", refuse)
    with pytest.raises(Conflict):
        await stage.write("True")
    assert stage.is_empty()


async def test_it_is_tried_again_until_it_is_taken_in_the_order_of_what_happened(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outboxes, "TIMEOUT_SECONDS", 1.0)
    sink, elsewhere = FakeSink(), FakeSink()
    async with sink.serve(LOOPBACK) as url, elsewhere.serve(LOOPBACK) as other:
        sink.faults = [answering(500), hang_up, answering(400), answering(307, Location=other), sink.hang]
        stage = Stage(a=url)
        await stage.write("True", "False")
        async with stage.running():
            await stage.settle()
    assert [item["type"].rpartition(".")[2] for item in sink.asked] == ["ready"] * 6 + ["failed"]
    assert len({item["id"] for item in sink.asked}) == 2
    assert elsewhere.asked == []
    assert stage.look() == []
    assert "it answers with status 400" in caplog.text
    assert "Traceback" not in caplog.text
    assert "inner secret" not in caplog.text, "what a sink says is not read"


async def test_a_new_operator_sends_what_is_owed_with_the_same_id_to_a_server_that_was_away() -> None:
    before, after = FakeSink(), FakeSink()
    before.faults = [before.hang]
    async with before.serve(LOOPBACK) as url:
        stage = Stage(a=url)
        await stage.write("True")
        async with stage.running():
            await until(lambda: len(before.asked) == 1)
    await stage.write("False")
    stage.start()
    await stage.look_again()
    assert stage.look() == PENDING
    async with stage.running(), after.serve(LOOPBACK, int(url.rsplit(":", 1)[1].partition("/")[0])):
        await stage.settle()
    assert [item["id"] for item in after.events] == [before.asked[0]["id"]]
    assert stage.look() == []


@pytest.mark.parametrize("is_there", [True, False])
async def test_one_that_is_over_its_time_is_given_up_after_a_try_and_an_event_says_so(is_there: bool) -> None:
    async with owing(*[answering(500)] * 9, time=LONG_AGO) as (sink, stage):
        if not is_there:
            stage.drop_job()
        async with stage.running():
            await worked_off(stage.outbox.queue)
            if is_there:
                await stage.settle()
                assert stage.look() == []
    assert len(sink.asked) == 1
    told = "could not deliver notice 'dev.nestor.job.ready' to sink 'a'; the operator's log has the error"
    assert stage.events() == ([("Warning", told)] if is_there else [])
    assert stage.is_empty()


async def test_a_pass_does_not_hurry_what_waits_for_its_next_attempt() -> None:
    async with owing(*[answering(500)] * 2) as (sink, stage):
        vars(stage.outbox.queue)["_first_delay"] = vars(stage.outbox.queue)["_max_delay"] = 3000
        async with stage.running():
            await until(lambda: stage.outbox.queue.failed == 1)
            await stage.look_again()
            await asyncio.sleep(0.2)
    assert len(sink.asked) == 1


async def test_nothing_is_remembered_of_a_job_that_is_deleted_before_a_pass_writes_what_was_delivered() -> None:
    async with owing() as (_, stage), stage.running():
        await until(lambda: stage.passes == 1)
    assert not stage.is_empty()
    stage.drop_job()
    assert stage.is_empty()


async def test_a_deleted_job_is_still_told_of_even_if_another_has_its_name() -> None:
    async with owing(*[answering(500)] * 3) as (sink, stage):
        await stage.write("True", "True")
        gone = stage.drop_job()
        again = copy.deepcopy(gone)
        again["metadata"] |= {"uid": "another", "resourceVersion": "99"}
        stage.scene.context.cache.jobs.put(again)
        async with stage.running():
            await worked_off(stage.outbox.queue)
    assert sink.types() == ["ready", "succeeded"]
    assert stage.passes == 0
    assert stage.is_empty()


async def test_a_sink_that_hangs_holds_up_no_other_and_gets_few_requests_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "WORKERS", AT_ONCE + 1)
    slow, quick = FakeSink(), FakeSink()
    slow.faults = [slow.hang] * 99
    async with slow.serve(LOOPBACK) as first, quick.serve(LOOPBACK) as second:
        stage = Stage(slow=first, quick=second)
        stage.scene.context.wake = lambda kind, name, namespace: None
        for number in range(3 * AT_ONCE):
            job = stage.scene.add_job()
            job["metadata"] |= {"name": f"job-{number}", "uid": f"u{number}"}
            stage.scene.change(kinds.NESTED_APP_JOB, job)
            found = build_status(job, [Condition(conditions.READY, "True", "AppReady", "")], timestamp())
            await report(stage.scene.context, [stage.outbox], job, found)
        async with stage.running():
            await until(lambda: len(quick.events) == 3 * AT_ONCE)
            await until(lambda: len(slow.asked) >= AT_ONCE)
            await asyncio.sleep(0.2)
            assert len(slow.asked) == AT_ONCE


async def test_of_a_dead_sink_so_many_events_wait_in_memory_and_others_wait_for_their_jobs_next_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outboxes, "LIMIT", 1)
    sink = FakeSink()
    async with sink.serve(LOOPBACK) as url:
        stage = Stage(a=url, b=url)
        await stage.write("True", "True")
        async with stage.running():
            await stage.settle()
            assert sink.types() == ["ready", "ready"], "each sink has a limit of its own"
            await stage.settle()
    assert (sink.types().count("succeeded"), stage.look()) == (2, [])


async def test_a_sink_that_is_taken_away_is_told_no_more() -> None:
    stage = Stage(a="http://sink.invalid/")
    await stage.write("True")
    stage.scene.set_class("Baseline")
    async with stage.running():
        await stage.settle()
    assert (stage.look(), stage.is_empty()) == ([], True)


def secret(**data: str) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": "login", "namespace": "nestor-system"}, "data": encoded}


@pytest.mark.parametrize(
    ("header", "said", "expected"), [({}, "authorization", "Bearer s3cret"), ({"header": "aeg-sas-key"}, "aeg-sas-key", "s3cret")]
)
async def test_credentials_are_read_in_the_operators_namespace_each_time(
    tmp_path: Path, header: dict[str, str], said: str, expected: str
) -> None:
    tls, authority = make_tls(tmp_path, LOOPBACK)
    sink = FakeSink()
    async with sink.serve(LOOPBACK, tls=tls) as url:
        stage = Stage()
        stage.point_to({"name": "a", "url": url, "secretName": "login"})
        await stage.write("True")
        async with stage.running():
            good = header | {"ca.crt": authority}
            broken = secret(token="s3cret"), secret(**{"ca.crt": "no certificate"}), secret(token="a\nb", **good)
            for wrong in (None, *broken):
                if wrong:
                    stage.scene.api.put(kinds.SECRET, wrong)
                await stage.fail()
            assert sink.asked == []
            stage.scene.api.put(kinds.SECRET, secret(token="s3cret\n", **good))
            await stage.settle()
    assert (sink.types(), [item[said] for item in sink.headers]) == (["ready"], [expected])


async def test_a_server_whose_certificate_is_not_trusted_gets_nothing(tmp_path: Path) -> None:
    tls, _ = make_tls(tmp_path, LOOPBACK)
    trusted, plain = FakeSink(), FakeSink()
    async with trusted.serve(LOOPBACK, tls=tls) as first, plain.serve(LOOPBACK) as second:
        stage = Stage(a=first, b=second.replace("http:", "https:"))
        await stage.write("True")
        async with stage.running():
            await until(lambda: stage.outbox.queue.failed > 2)
    assert (trusted.asked, plain.asked) == ([], [])


async def test_an_answer_without_end_is_not_read() -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while sent < 2**30:
                await response.write(b"x" * 65536)
                sent += 65536
        return response

    async with owing(flood) as (_, stage), stage.running():
        await stage.settle()
    assert sent < 2**30


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_the_operators_own_node_and_the_cloud_are_never_connected_to(
    host: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By address, and by a name whose address it is."""
    monkeypatch.setattr(addresses, "explain_refusal", EXPLAIN)
    caplog.set_level(logging.INFO)
    sink = FakeSink()
    async with sink.serve(LOOPBACK) as url:
        stage = Stage()
        stage.point_to({"name": "a", "url": url.replace(LOOPBACK, host)})
        await stage.write("True")
        async with stage.running():
            await until(lambda: stage.outbox.queue.failed > 0)
    assert sink.asked == []
    assert "PermissionError" in caplog.text
