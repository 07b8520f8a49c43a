"""What the operator's process must survive, what the kubelet hears of it, and its log in JSON."""

import asyncio
import json
import logging
import subprocess
import sys
import time
from typing import Any

import pytest

from nestor.api import labels
from nestor.kube import Change, kinds
from nestor.kube.election import LeaseLost
from nestor.operator import logs, main
from nestor.operator.wiring import STALE_SECONDS, Key, Operator
from nestor.operator.world.host_facts import HostUnknown
from tests.unit.operator.scene import Scene

DEEPEST = 10_000
"""Where Go's JSON decoder, and so every API server, stops."""
PROGRAM = f"""
import copy, json, sys
from nestor.operator.main import RECURSION_LIMIT
sys.setrecursionlimit(RECURSION_LIMIT)
for opening, closing in (('{{"a":', '}}'), ('[', ']')):
    text = opening * {DEEPEST} + '1' + closing * {DEEPEST}
    found = json.loads(text)
    assert json.loads(json.dumps(found)) == found == copy.deepcopy(found)
"""


def test_json_of_any_depth_that_an_api_server_takes_can_be_read_and_written() -> None:
    """In a process of its own: where the stack is too small for the limit, Python does not raise but ends."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-500:]


@pytest.mark.parametrize(
    "error",
    [
        HostUnknown("nobody tells"),
        LeaseLost("nobody tells"),
        ExceptionGroup("parts", [LeaseLost("nobody tells")]),
        ExceptionGroup("parts", [ExceptionGroup("of a part", [LeaseLost("nobody tells")])]),
    ],
    ids=repr,
)
def test_what_is_no_fault_of_ours_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever part has met it first: whoever writes may hear of a lost Lease before that which keeps it does."""
    assert _end_by(error, monkeypatch) == 1
    assert [(record.levelname, record.getMessage(), record.exc_info) for record in caplog.records] == [
        ("ERROR", "nobody tells", None)
    ]
    assert _end_by(None, monkeypatch) == 0
    assert len(caplog.records) == 1, "an end in order is no error"


def test_a_fault_is_told_with_its_trace(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert _end_by(ExceptionGroup("parts", [ValueError("broken"), LeaseLost("gone")]), monkeypatch) == 1
    assert "Traceback" in caplog.text
    assert "ValueError: broken" in caplog.text


def _end_by(error: Exception | None, monkeypatch: pytest.MonkeyPatch) -> int:
    async def run(*_: object) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(main, "run_operator", run)
    monkeypatch.setattr(main, "_set_up_logging", lambda _: None)
    monkeypatch.setattr(main, "read_settings", lambda _: None)
    monkeypatch.setattr(sys, "setrecursionlimit", lambda _: None)
    return main.main([])


@pytest.fixture
def operator() -> Operator:
    """An operator that has listed everything, and heard of all its watches just now."""
    operator = Operator(Scene().context)
    for informer in operator.cache.informers.values():
        informer.synced.set()
    operator.cache.informers[kinds.HTTP_ROUTE].synced.clear()
    operator._definitions.problem = None
    return operator


def ask(operator: Operator, page: str) -> tuple[int, str]:
    """Status and text of a page."""
    return operator.build_pages().answer("GET", f"/{page}")


@pytest.mark.parametrize("page", ["healthz", "readyz"])
async def test_all_is_well(operator: Operator, page: str) -> None:
    assert ask(operator, page) == (200, "ok")


async def test_one_silent_watch_is_enough_to_be_unhealthy(operator: Operator) -> None:
    for informer in operator.cache.informers.values():
        informer.last_contact = time.monotonic() - (STALE_SECONDS - 60)
    assert (ask(operator, "healthz"))[0] == 200
    for kind, informer in [item for item in operator.cache.informers.items() if item[0] != kinds.HTTP_ROUTE]:
        informer.last_contact = time.monotonic() - (STALE_SECONDS + 1)
        code, text = ask(operator, "healthz")
        assert (code, text.startswith(f"the watch of {kind.plural} has been silent for")) == (503, True), text
        # Only a restart helps: it is no question of being ready.
        assert (ask(operator, "readyz"))[0] == 200
        informer.last_contact = time.monotonic()


async def test_what_is_not_listed_yet_is_named_and_no_reason_for_a_restart(operator: Operator) -> None:
    operator.cache.informers[kinds.POD].synced.clear()
    assert ask(operator, "readyz") == (503, "waiting for the first list of pods")
    operator.cache.jobs.synced.clear()
    assert ask(operator, "readyz") == (503, "waiting for the first list of nestedappjobs, pods")
    assert ask(operator, "healthz") == (200, "ok")


def read_caches(operator: Operator) -> tuple[dict[str, dict[str, Any]], int]:
    page = json.loads((ask(operator, "debug/caches"))[1])
    return {cache["resource"]: cache for cache in page["caches"]}, page["busy"]


async def test_it_says_of_each_kind_what_it_knows(operator: Operator) -> None:
    listed = {"type": "ADDED", "object": {"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}}}
    operator.cache.jobs._take(listed)
    found, _ = read_caches(operator)
    assert found.keys() == {kind.plural for kind in operator.cache.informers} - {"httproutes"}, "nobody wants to know of those"
    known = {name: (item["objects"], item["versions"]) for name, item in found.items() if item["isKnown"]}
    assert known == {"nestedappjobs": (1, 7)}
    assert found["pods"]["labelSelector"] == "app.kubernetes.io/managed-by=nestor"


async def test_it_says_how_much_it_has_to_do(operator: Operator) -> None:
    assert (read_caches(operator))[1] == 0
    operator.queue.add(Key(kinds.NESTED_APP_JOB, "team-a", "a"))
    assert (read_caches(operator))[1] == 1
    pod = {"metadata": {"name": "a", "namespace": "n", "labels": {labels.GANG: "x"}}}
    for handler in operator.cache.informers[kinds.POD].handlers:
        handler(Change(("n", "a"), None, pod))
    assert (read_caches(operator))[1] == 2, "its gang is to be looked at"


async def test_definitions_that_are_too_old_are_named_and_no_reason_for_a_restart(operator: Operator) -> None:
    operator._definitions.problem = "the CustomResourceDefinitions are old"
    assert ask(operator, "readyz") == (503, "the CustomResourceDefinitions are old")
    assert ask(operator, "healthz") == (200, "ok")


async def test_nothing_is_decided_while_definitions_are_too_old(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, updated = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(operator._definitions, "wait", updated.wait)
    monkeypatch.setattr(operator.queue, "run", run)
    working = asyncio.create_task(operator._work())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not begun.is_set()
    updated.set()
    await asyncio.wait_for(begun.wait(), 10)
    working.cancel()
    await asyncio.wait({working})


def test_a_watch_is_silent_for_longer_than_a_healthy_one_ever_is(operator: Operator) -> None:
    informers: list[Any] = list(operator.cache.informers.values())
    assert max(informer.watch_seconds for informer in informers) < STALE_SECONDS


async def test_lines_of_a_pass_name_its_job_and_others_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caplog.handler, "formatter", logs.JsonFormatter())
    caplog.set_level(logging.INFO, "test.lines")
    scene, log = Scene(), logging.getLogger("test.lines")
    said = [{"type": "Admitted", "status": "True"}, {"type": "ClusterReady", "status": "False"}]
    job = scene.change(kinds.NESTED_APP_JOB, scene.add_job() | {"status": {"conditions": said}})
    operator = Operator(scene.context)

    async def reconcile(*_: str) -> None:
        await asyncio.create_task(write())

    async def write() -> None:
        log.info("a line\n%s", "\x1b[31m")

    operator._passes[kinds.NESTED_APP_JOB] = reconcile
    await operator._reconcile(Key(kinds.NESTED_APP_JOB, "team-a", "hello"))
    log.info("after it")
    first, second = map(json.loads, caplog.text.splitlines())
    about = {"job": "hello", "namespace": "team-a", "uid": job["metadata"]["uid"], "stage": "ClusterReady"}
    assert first.items() >= (about | {"message": "a line\n\x1b[31m", "level": "info"}).items()
    assert not about.keys() & second.keys()


def test_other_objects_have_their_kind() -> None:
    line = logging.LogRecord("x", logging.INFO, "", 0, "said", None, None)
    with logs.about("OverflowBackend", "", "hpc", {"metadata": {"uid": "b"}}):
        found = json.loads(logs.JsonFormatter().format(line))
    assert (found["kind"], found["name"], found["uid"]) == ("OverflowBackend", "hpc", "b")
    assert "namespace" not in found
