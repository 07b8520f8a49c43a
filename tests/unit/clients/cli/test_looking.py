"""What users look at: the machines that they may use, a job's events, and jobs as they change."""

import asyncio
from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.clients.cli import output, session
from nestor.clients.cli.commands import events, listing, top
from nestor.clients.cli.exits import Code, Failure
from nestor.kube import Api, Forbidden, kinds
from tests.fakes.api import MemoryApi
from tests.unit.clients.cli import builders, golden
from tests.unit.clients.cli.builders import NOW, STATES
from tests.unit.clients.cli.memory import Object, call, server

GPU = {"name": "gpu", "description": "one A100", "quota": {"nvidia.com/gpu": 1}}
SMALL = {"name": "small", "quota": {"cpu": 1}}
QUOTA = {"requests.memory": "16Gi", "limits.memory": "32Gi", "requests.cpu": 4, "count/jobs.batch": 5}


def nested_class(name: str, spec: Object, **annotations: str) -> Object:
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


CLASSES = [
    nested_class("big", {"namespace": {"quota": QUOTA}, "placement": {"machines": [GPU, SMALL], "defaultMachine": "small"}}),
    nested_class("lab", {"access": "Permitted"}),
    nested_class("standard", {"placement": {"machines": [SMALL]}}, **{labels.DEFAULT_CLASS: "true"}),
    nested_class("vip", {"access": "Permitted"}),
]


def test_the_machines_that_a_user_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    async def may(_: Api, namespace: str, verb: str, resource: str, *, name: str) -> bool:
        assert (namespace, verb, resource) == ("team-a", "use", "nestedclasses")
        return name == "lab"

    api = MemoryApi()
    for item in CLASSES:
        api.put(kinds.NESTED_CLASS, item)
    monkeypatch.setattr(session, "may", may)
    golden.check("machines.plain.txt", call(monkeypatch, api, "machines").stdout)


def event(about: str, seconds: float, kind: str = "Normal", **more: Any) -> Object:
    meta = {"name": f"{about}.{seconds}", "namespace": "team-a", "creationTimestamp": builders.ago(500)}
    return {
        "metadata": meta,
        "lastTimestamp": builders.ago(seconds),
        "type": kind,
        "reason": "Pulled",
        "message": "one\n  two",
        "involvedObject": {"kind": "Pod", "name": about, "uid": "u1"},
    } | more


def test_events_are_told_in_their_order() -> None:
    young = event("c", 0, lastTimestamp=None, eventTime=builders.ago(5))
    found = [event("a", 20, "Warning"), young, event("b", 60), event("d", 0, lastTimestamp=None)]
    rows = [[str(cell) for cell in row] for row in events.build_rows(found, NOW)]
    assert [(row[0], row[3]) for row in rows] == [("8m20s", "pod/d"), ("60s", "pod/b"), ("20s", "pod/a"), ("5s", "pod/c")]
    assert rows[2] == ["20s", "Warning", "Pulled", "pod/a", "one two"]
    ((_, kind, *_),) = events.build_rows([event("a", 20, "\x1b[2JNormal")], NOW)
    assert "\x1b" not in str(kind)


def test_who_may_not_look_into_a_jobs_namespace_sees_the_jobs_own_events(monkeypatch: pytest.MonkeyPatch) -> None:
    api = server(builders.ready())
    api.put(kinds.EVENT, event("mine", 1))
    api.put(kinds.EVENT, event("other", 1, involvedObject={"kind": "Pod", "name": "other", "uid": "u2"}))
    home = builders.BASE["namespace"]
    api.fault = lambda _, what: Forbidden(403, "Forbidden", "no") if home in what else None
    result = call(monkeypatch, api, "events", "shop")
    assert result.exit_code == Code.OK
    assert [line.split()[-3] for line in result.stdout.splitlines()[1:]] == ["pod/mine"]
    assert f"you have no permission to list events in the job's own namespace '{home}'" in result.stderr


@pytest.mark.parametrize(
    ("state", "goal", "code", "shown"),
    [
        ("ready", "ready", Code.OK, "http://shop-team-a.apps.test/\n"),
        ("ready", "ended", Code.TIMED_OUT, ""),
        ("running", "ready", Code.TIMED_OUT, ""),
        ("failed", "ready", Code.FAILED, ""),
        ("failed", "ended", Code.FAILED, ""),
        ("completed", "ready", Code.OK, ""),
        ("completed", "ended", Code.OK, ""),
        ("suspended", "ready", Code.FAILED, ""),
        ("suspended", "ended", Code.TIMED_OUT, ""),
    ],
)
def test_waiting_for_a_job(monkeypatch: pytest.MonkeyPatch, state: str, goal: str, code: Code, shown: str) -> None:
    result = call(monkeypatch, server(STATES[state]()), "wait", "shop", "--for", goal, "--timeout", "0.1s")
    assert (result.exit_code, result.stdout) == (code, shown)


async def test_of_jobs_that_are_watched_those_are_printed_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: asyncio.Queue[tuple[list[str], bool]] = asyncio.Queue()

    def print_table(head: list[str], rows: list[list[Any]], widths: list[int]) -> None:
        assert head[:2] == ["NAME", "STATUS"]
        printed.put_nowait(([f"{row[0]} {row[1]}" for row in rows], not widths))

    monkeypatch.setattr(output, "print_table", print_table)
    other = builders.running()
    other["metadata"] |= {"name": "other", "uid": "u2"}
    api = server(builders.running(), other)
    watching = asyncio.create_task(listing.watch_jobs(cast(Api, api), "team-a", "", wide=False))
    assert await printed.get() == (["shop StepRunning", "other StepRunning"], True)
    other["status"]["pods"] = {"running": 1}
    api.put(kinds.NESTED_APP_JOB, other)
    api.put(kinds.NESTED_APP_JOB, builders.ready())
    assert await printed.get() == (["shop Ready"], False)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


def test_of_several_jobs_those_are_shown_that_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(_: object, job: Object, rows: list[list[str]]) -> None:
        if job["metadata"]["name"] == "a":
            raise Failure("no metrics of 'a'")
        rows.append([job["metadata"]["name"], *"pclml"])

    monkeypatch.setattr(top, "_read", read)
    jobs = [builders.ready(), builders.ready()]
    for name, job in zip("ab", jobs, strict=True):
        job["metadata"] |= {"name": name, "uid": name}
    result = call(monkeypatch, server(*jobs), "top")
    assert (result.exit_code, result.stdout.splitlines()[-1].split()) == (Code.FAILED, [*"bpclml"])
    assert "no metrics of 'a'" in result.stderr


@pytest.mark.parametrize(
    ("usage", "limits", "cells"),
    [
        ({"cpu": "120500u", "memory": "10240Ki"}, {"cpu": "1", "memory": "1Gi"}, ["241m", "2000m", "20Mi", "2048Mi"]),
        ({"cpu": "950m", "memory": "1000Mi"}, {"cpu": "1", "memory": "1Gi"}, ["1900m", "2000m", "2000Mi", "2048Mi"]),
        ({"cpu": "950m"}, {"memory": "1Gi"}, ["1900m", "-", "0Mi", "2048Mi"]),
    ],
)
def test_what_a_job_uses_beside_its_limits(usage: Object, limits: Object, cells: list[str]) -> None:
    def pod(name: str, **more: Any) -> Object:
        return {"metadata": {"name": name, "namespace": "default"}, **more}

    used = [pod("web", containers=[{"name": "a", "usage": usage}, {"name": "b", "usage": usage}]), pod("gone", containers=[])]
    pods = [pod("web", spec={"containers": [{"name": name, "resources": {"limits": limits}} for name in "ab"]})]
    (row,) = top.build_rows("shop", [*pods, pod("new", spec={"containers": []})], used)
    assert row == ["shop", "default/web", *cells]
