"""The operator's log in JSON."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from nestor.kube import kinds
from nestor.operator import logs
from nestor.operator.wiring import JOB, Key, Operator
from tests.unit.operator.scene import Scene

Object = dict[str, Any]


class Lines(logging.Handler):
    """Keeps what is logged, formatted at once, as a stream's handler does."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Object] = []
        self.setFormatter(logs.JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(json.loads(self.format(record)))


async def test_lines_of_a_pass_name_its_job_and_others_none() -> None:
    lines, log = Lines(), logging.getLogger("test.lines")
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    scene = Scene()
    job = scene.add_job()
    said = [{"type": "Admitted", "status": "True"}, {"type": "ClusterReady", "status": "False"}]
    job = scene.change(kinds.NESTED_APP_JOB, job | {"status": {"conditions": said}})
    operator = Operator(scene.context)

    async def reconcile(_: Key) -> Any:
        await asyncio.create_task(write())
        return None

    async def write() -> None:
        log.info("a line\n%s", "\x1b[31m")

    try:
        key = Key(JOB, job["metadata"]["namespace"], job["metadata"]["name"])
        with logs.about(key.kind, key.namespace, key.name, operator._find(key)):
            await reconcile(key)
        log.info("after it")
    finally:
        log.removeHandler(lines)
    first, second = lines.found
    assert {key: first[key] for key in ("job", "namespace", "uid", "stage", "message", "level")} == {
        "job": "hello",
        "namespace": "team-a",
        "uid": job["metadata"]["uid"],
        "stage": "ClusterReady",
        "message": "a line\n\x1b[31m",
        "level": "info",
    }
    assert not {"job", "namespace", "uid", "stage"} & second.keys()


def test_other_objects_have_their_kind() -> None:
    line = logging.LogRecord("x", logging.INFO, "", 0, "said", None, None)
    with logs.about("OverflowBackend", "", "hpc", {"metadata": {"uid": "b"}}):
        found = json.loads(logs.JsonFormatter().format(line))
    assert (found["kind"], found["name"], found["uid"]) == ("OverflowBackend", "hpc", "b")
    assert "namespace" not in found
