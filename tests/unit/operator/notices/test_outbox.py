"""Notices are sent apart from passes, one after the other to each sink, until they are taken or given up."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from nestor import times
from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.kube import Conflict, kinds
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.notices import outbox as outboxes
from nestor.operator.notices.outbox import AT_ONCE, ATTEMPTS_WHEN_GONE, Outbox, find_pause
from nestor.operator.notices.post import Request, Undelivered
from nestor.operator.status.build import build_status
from nestor.operator.status.report import report
from nestor.times import timestamp
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import Scene
from tests.waiting import eventually

LONG_AGO = "2020-01-01T00:00:00Z"


class Sink:
    """What the sinks got, by the type of the event; it answers as `failures` say, in turn."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []
        self.requests: list[Request] = []
        self.failures: dict[str, list[Undelivered]] = {}
        self.blocked: set[str] = set()
        self.opened = asyncio.Event()
        self.sending = 0

    async def __call__(self, request: Request) -> None:
        host = request.url.split("/")[2]
        self.requests.append(request)
        self.sending += 1
        try:
            if host in self.blocked:
                await self.opened.wait()
            if left := self.failures.get(host):
                raise left.pop(0)
        finally:
            self.sending -= 1
        self.got.append((host, json.loads(request.body)["type"].rpartition(".")[2]))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of no length."""
    monkeypatch.setattr(outboxes, "find_pause", lambda failures: 0.01)


def sinks(*names: str, **fields: Any) -> Object:
    return {"sinks": [{"name": name, "url": f"https://{name}/"} | fields for name in names]}


class Stage:
    """A job, whose status is written by passes, and an outbox beside them."""

    def __init__(self, *names: str, **fields: Any) -> None:
        self.scene = Scene()
        self.scene.set_class("Baseline", notices=sinks(*(names or ("a",)), **fields))
        self.scene.add_job()
        self.sink = Sink()
        self.start()

    def start(self) -> None:
        """Have an operator that remembers nothing."""
        self.outbox = Outbox(self.scene.context, self.sink)
        self.passes = 0
        self.outbox.on_report(self._on_report)

    def _on_report(self, namespace: str, name: str) -> None:
        assert (namespace, name) == ("team-a", "hello")
        self.passes += 1

    @property
    def job(self) -> Object:
        found = self.scene.context.cache.jobs.get("hello", "team-a")
        assert found is not None
        return found

    def look(self) -> dict[str, tuple[str, str]]:
        """State and problem of each notice, by sink and type."""
        found = self.job["status"].get("notices") or []
        return {f"{item['sink']} {item['type']}": (item["state"], item.get("problem", "")) for item in found}

    async def write(self, ready: conditions.Status, succeeded: conditions.Status, time: str = "") -> None:
        """A pass that finds this."""
        found = [
            Condition(conditions.READY, ready, "AppReady", "it is up"),
            Condition(conditions.SUCCEEDED, succeeded, "Completed", "it is done"),
        ]
        await report(self.scene.context, self.outbox, self.job, build_status(self.job, found, time or timestamp()))

    async def look_again(self) -> None:
        """A pass that finds nothing new but what the outbox reports."""
        await report(self.scene.context, self.outbox, self.job, self.job["status"])

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The outbox at work."""
        task = asyncio.create_task(self.outbox.run())
        try:
            async with asyncio.timeout(30):
                yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def until(self, look: Callable[[], bool]) -> None:
        async def there() -> bool:
            return look()

        await eventually(there, 20)

    async def settle(self) -> None:
        """Until nothing is on its way; then a pass."""
        await asyncio.wait_for(self.outbox.queue.idle.wait(), 20)
        await self.look_again()


def down(times: int = 1, *, is_final: bool = False) -> list[Undelivered]:
    return [Undelivered("it cannot be reached", details="10.0.0.1", is_final=is_final) for _ in range(times)]


async def test_a_notice_is_pending_in_the_write_that_tells_of_it_and_then_delivered() -> None:
    stage = Stage()
    await stage.write("True", "Unknown")
    written = stage.scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    assert conditions.is_true(written["status"]["conditions"], conditions.READY)
    assert [item["state"] for item in written["status"]["notices"]] == ["Pending"]
    assert stage.sink.got == []
    async with stage.running():
        await stage.settle()
    assert stage.sink.got == [("a", "ready")]
    assert stage.look() == {"a Ready": ("Delivered", "")}
    assert stage.passes == 1


async def test_no_pass_sends_it_again() -> None:
    stage = Stage()
    async with stage.running():
        await stage.write("True", "Unknown")
        for _ in range(3):
            await stage.look_again()
        await stage.settle()
        await stage.look_again()
        await stage.settle()
    assert stage.sink.got == [("a", "ready")]


async def test_a_pass_while_it_is_on_its_way_does_not_send_it_again() -> None:
    stage = Stage()
    stage.sink.blocked = {"a"}
    async with stage.running():
        await stage.write("True", "Unknown")
        await stage.until(lambda: stage.sink.sending == 1)
        await stage.look_again()
        stage.sink.opened.set()
        await stage.settle()
    assert len(stage.sink.requests) == 1


async def test_nothing_is_sent_of_what_could_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another pass may find something else."""
    stage = Stage()

    async def refuse(*_: Any, **__: Any) -> None:
        raise Conflict(409, "Conflict", "")

    monkeypatch.setattr(stage.scene.api, "apply", refuse)
    with pytest.raises(Conflict):
        await stage.write("True", "Unknown")
    assert vars(stage.outbox)["_boxes"] == {}


async def test_a_pass_with_an_old_cache_does_not_send_it_again() -> None:
    """The pass that is to write down what was delivered fails: nothing is written, and the next one knows it still."""
    stage = Stage()
    async with stage.running():
        await stage.write("True", "Unknown")
        await asyncio.wait_for(stage.outbox.queue.idle.wait(), 20)
        stage.outbox.take(stage.job, stage.job["status"])
        await stage.settle()
    assert stage.sink.got == [("a", "ready")]
    assert stage.look() == {"a Ready": ("Delivered", "")}


async def test_a_new_operator_sends_what_is_pending_with_the_same_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "find_pause", lambda failures: 3000.0)
    stage = Stage()
    stage.sink.failures["a"] = down()
    await stage.write("True", "Unknown")
    async with stage.running():
        await stage.until(lambda: len(stage.sink.requests) == 1)
    stage.start()
    await stage.look_again()
    async with stage.running():
        await stage.settle()
    assert stage.sink.got == [("a", "ready")]
    first, second = (json.loads(request.body) for request in stage.sink.requests)
    assert first == second
    assert stage.look() == {"a Ready": ("Delivered", "")}


async def test_a_condition_that_has_changed_meanwhile_is_still_told() -> None:
    stage = Stage()
    await stage.write("True", "Unknown")
    stage.start()
    await stage.write("False", "Unknown")
    async with stage.running():
        await stage.settle()
    assert stage.sink.got == [("a", "ready")]


async def test_it_is_tried_again_until_it_is_taken_in_the_order_of_what_happened() -> None:
    stage = Stage()
    stage.sink.failures["a"] = down(3)
    await stage.write("True", "Unknown", times.write(times.now() - datetime.timedelta(seconds=2)))
    await stage.write("False", "False")
    stage.start()
    await stage.look_again()
    async with stage.running():
        await stage.settle()
    assert [json.loads(request.body)["type"].rpartition(".")[2] for request in stage.sink.requests] == ["ready"] * 4 + ["failed"]


async def test_failures_are_told_once_and_then_that_it_was_delivered() -> None:
    stage = Stage()
    stage.sink.failures["a"] = down(5)
    async with stage.running():
        await stage.write("True", "True")
        await stage.until(lambda: stage.passes == 1)
        await stage.look_again()
        assert stage.look()["a Ready"] == ("Pending", "it cannot be reached")
        await stage.settle()
    assert stage.sink.got == [("a", "ready"), ("a", "succeeded")]
    assert stage.passes == 3, "the first of five failures, and two deliveries"
    assert stage.look() == {"a Ready": ("Delivered", ""), "a Succeeded": ("Delivered", "")}


async def test_one_that_is_over_its_time_is_given_up_after_a_try_and_an_event_says_so() -> None:
    stage = Stage()
    stage.sink.failures["a"] = down(2)
    await stage.write("True", "Unknown", LONG_AGO)
    async with stage.running():
        await stage.settle()
        await stage.settle()
    assert len(stage.sink.requests) == 1
    assert stage.look() == {"a Ready": ("Undelivered", "it cannot be reached")}
    events = [item for key, item in stage.scene.api.objects.items() if key[0] == "events"]
    told = [(item["type"], item["message"]) for item in events if item["reason"] == "NoticeUndelivered"]
    assert told == [("Warning", "sink 'a' was not told 'Ready': it cannot be reached; given up")]


async def test_one_that_is_refused_is_not_sent_again_and_holds_up_no_later_one() -> None:
    stage = Stage()
    stage.sink.failures["a"] = down(is_final=True)
    await stage.write("True", "True")
    async with stage.running():
        await stage.settle()
    assert stage.sink.got == [("a", "succeeded")]
    assert stage.look() == {"a Ready": ("Undelivered", "it cannot be reached"), "a Succeeded": ("Delivered", "")}


@pytest.mark.parametrize("count", [1, 5])
async def test_sinks_that_hang_hold_up_no_other_and_get_few_at_a_time(count: int) -> None:
    slow = [f"slow-{number}" for number in range(count)]
    stage = Stage(*slow, "quick")
    stage.sink.blocked = set(slow)
    for number in range(3 * AT_ONCE):
        job = stage.scene.add_job()
        job["metadata"] |= {"name": f"job-{number}", "uid": f"u{number}"}
        stage.scene.change(kinds.NESTED_APP_JOB, job)
        found = [Condition(conditions.READY, "True", "AppReady", "")]
        stage.outbox.on_report(lambda namespace, name: None)
        await report(stage.scene.context, stage.outbox, job, build_status(job, found, timestamp()))
    async with stage.running():
        await stage.until(lambda: len(stage.sink.got) == 3 * AT_ONCE)
        assert {host for host, _ in stage.sink.got} == {"quick"}
        await stage.until(lambda: stage.sink.sending == count * AT_ONCE)
        stage.sink.opened.set()
        await stage.until(lambda: len(stage.sink.got) == (count + 1) * 3 * AT_ONCE)


async def test_what_is_told_while_an_older_one_is_on_its_way_is_sent_after_it() -> None:
    stage = Stage()
    stage.sink.blocked = {"a"}
    async with stage.running():
        await stage.write("True", "Unknown", "2026-01-01T00:00:01Z")
        await stage.until(lambda: stage.sink.sending == 1)
        await stage.write("False", "Unknown")
        await stage.write("True", "Unknown", "2026-01-01T00:00:03Z")
        stage.sink.opened.set()
        await stage.settle()
    assert [json.loads(request.body)["id"][-9:] for request in stage.sink.requests] == ["00:00:01Z", "00:00:03Z"]
    assert stage.look() == {"a Ready": ("Delivered", "")}


async def test_a_deleted_job_is_still_told_of_but_not_for_ever() -> None:
    stage = Stage()
    stage.sink.failures["a"] = down(100)
    await stage.write("True", "Unknown")
    gone = stage.job
    stage.scene.context.cache.jobs.drop(gone)
    stage.outbox.forget(gone["metadata"]["uid"])
    async with stage.running():
        await asyncio.wait_for(stage.outbox.queue.idle.wait(), 20)
    assert len(stage.sink.requests) == ATTEMPTS_WHEN_GONE
    assert vars(stage.outbox)["_reports"] == vars(stage.outbox)["_boxes"] == {}


async def test_nothing_is_remembered_of_what_is_done() -> None:
    stage = Stage()
    await stage.write("True", "True")
    async with stage.running():
        await stage.settle()
    assert vars(stage.outbox)["_reports"] == vars(stage.outbox)["_boxes"] == {}


async def test_a_sink_that_is_taken_away_is_told_no_more() -> None:
    stage = Stage()
    await stage.write("True", "Unknown")
    stage.scene.set_class("Baseline")
    async with stage.running():
        await stage.settle()
    assert stage.sink.requests == []
    assert stage.look() == {}


async def test_a_class_that_changes_is_tried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "find_pause", lambda failures: 3000.0)
    stage = Stage(giveUpAfterSeconds=7200)
    stage.sink.failures["a"] = down()
    await stage.write("True", "Unknown")
    async with stage.running():
        await stage.until(lambda: len(stage.sink.requests) == 1 and stage.sink.sending == 0)
        stage.scene.set_class("Baseline", notices=sinks("a") | {"source": "https://x"})
        stage.outbox.hurry("another")
        stage.outbox.hurry("default")
        await stage.until(lambda: len(stage.sink.got) == 1)


def secret(name: str, **data: str) -> Object:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": name, "namespace": "nestor-system"}, "data": encoded}


async def test_credentials_are_read_in_the_operators_namespace_each_time() -> None:
    stage = Stage(tokenRef={"name": "login", "key": "token"}, caRef={"name": "login", "key": "ca"}, timeoutSeconds=7)
    await stage.write("True", "Unknown")
    async with stage.running():
        await stage.until(lambda: stage.passes == 1)
        await stage.look_again()
        assert stage.look() == {"a Ready": ("Pending", "its credentials cannot be read")}
        assert stage.sink.requests == []
        stage.scene.api.put(kinds.SECRET, secret("login", token="s3cret\n", ca="PEM"))
        await stage.settle()
    (request,) = stage.sink.requests
    assert (request.url, request.token, request.ca, request.timeout_seconds) == ("https://a/", "s3cret", "PEM", 7)


async def test_a_job_that_names_an_unknown_sink_is_admitted_and_told() -> None:
    scene = Scene()
    scene.set_class("Baseline", notices=sinks("a"))
    scene.add_job(notices={"sinks": ["b"]})
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    job = scene.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}
    admitted = conditions.find(job["status"]["conditions"], conditions.ADMITTED) or {}
    assert admitted["status"] == "True"
    assert "warning: `spec.notices.sinks`: class 'default' has no sink 'b'; available: 'a'" in admitted["message"]


def test_pauses_grow_up_to_five_minutes() -> None:
    for failures, least, most in (
        (1, 0.8, 1.2),
        (2, 1.6, 2.4),
        (5, 12.8, 19.2),
        (9, 204.8, 307.2),
        (10, 240, 360),
        (500, 240, 360),
    ):
        assert least <= find_pause(failures) <= most
