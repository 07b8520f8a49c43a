"""What the work queue is told of a pass."""

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest

from nestor.api import labels
from nestor.api.objects import conditions_of
from nestor.kube import Kind, kinds
from nestor.operator import wiring
from nestor.operator.wiring import Key, Operator
from nestor.operator.world.context import Result
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import HOME, Scene
from tests.waiting import worked_off

JOB, BACKEND, REQUEST = kinds.NESTED_APP_JOB, kinds.OVERFLOW_BACKEND, kinds.CERTIFICATE_REQUEST


async def test_a_result_is_when_to_look_again_or_an_error_to_try_again_after() -> None:
    error = ValueError("refused")
    results = [Result(), Result(7), Result(7, "a problem"), Result(7, error=error)]

    async def reconcile(*_: str) -> Result:
        return results.pop(0)

    operator, key = Operator(Scene().context), Key(JOB, "team-a", "x")
    operator._passes[JOB] = reconcile
    assert [await operator._reconcile(key) for _ in range(3)] == [None, 7, 7]
    with pytest.raises(ValueError, match="refused"):
        await operator._reconcile(key)


async def test_a_cluster_that_is_no_jobs_is_left_alone() -> None:
    """Whatever its labels say, where no job has its namespace."""
    scene = Scene()
    operator = Operator(scene.context)
    meta = {"name": "own", "namespace": "team-a", "uid": "u", "labels": labels.of_job("hello", "team-a", "1234")}
    scene.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {}})
    assert len(operator.queue) == 0
    operator.look_at("nestedclusters", "team-a", "own")
    assert len(operator.queue) == 0


async def test_what_kopf_tells_of_is_looked_at() -> None:
    scene = Scene()
    operator = Operator(scene.context)
    meta = {"name": "hello", "namespace": HOME, "uid": "u", "labels": labels.of_job("hello", "team-a", "1234")}
    scene.context.cache.clusters.store[HOME, "hello"] = {"metadata": meta, "spec": {}}
    operator.look_at("nestedclusters", HOME, "hello")
    assert Key(JOB, "team-a", "hello") in operator.queue
    for plural, key in {
        "nestedappjobs": Key(JOB, "team-b", "x"),
        "nestedapps": Key(kinds.NESTED_APP, "", "x"),
        "nestedclasses": Key(kinds.NESTED_CLASS, "", "x"),
        "overflowbackends": Key(BACKEND, "", "x"),
    }.items():
        operator.look_at(plural, key.namespace, "x")
        assert key in operator.queue


async def test_whoever_makes_many_jobs_delays_no_other_namespace() -> None:
    operator, done = Operator(Scene().context), []

    async def reconcile(namespace: str, _: str) -> Result:
        done.append(namespace)
        await asyncio.sleep(0)
        return Result()

    operator._passes[JOB] = reconcile
    for number in range(100):
        operator.queue.add(Key(JOB, "crowded", str(number)))
    operator.queue.add(Key(JOB, "quiet", "x"))
    running = asyncio.create_task(operator.queue.run())
    await worked_off(operator.queue)
    running.cancel()
    assert done.count("crowded") == 100
    assert done.index("quiet") == 1


async def test_no_job_is_without_a_status_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it waits behind others nor while its own first pass takes long."""
    monkeypatch.setattr(wiring, "FIRST_SECONDS", 0.01)
    scene = Scene()
    operator = Operator(scene.context)
    vars(operator)["_passes"] = {JOB: lambda *_: asyncio.Event().wait()}
    running = [asyncio.create_task(queue.run()) for queue in (operator.queue, operator._first)]
    jobs = [scene.change(kinds.NESTED_APP_JOB, build_job(f"job-{number}")) for number in range(40)]
    scene.change(kinds.NESTED_APP_JOB, jobs[0])  # it has changed while it is worked on
    await worked_off(operator._first)
    for task in running:
        task.cancel()
    found = [scene.look(kinds.NESTED_APP_JOB, job["metadata"]["name"], "team-a") for job in jobs]
    told = [{item["type"]: item["reason"] for item in conditions_of(job)} for job in found]
    assert told == [{"Admitted": "Pending", "Ready": "Pending"}] * 40
    assert len(operator.queue) == 40


async def test_who_waits_for_the_host_of_a_job_hears_at_once_that_the_job_is_gone() -> None:
    scene = Scene()
    operator = Operator(scene.context)
    host = "shared.jobs.test"
    wishes = {"a": host, "b": host, "c": None}
    owner, waiting, other = (build_job(name, expose={"host": wish} if wish else {}) for name, wish in wishes.items())
    for number, job in enumerate((owner, waiting, other)):
        job["metadata"] |= {"uid": f"u{number}", "resourceVersion": "1"}
        scene.context.cache.jobs.put(job)
    operator.queue._waiting.clear()
    scene.hide(kinds.NESTED_APP_JOB, owner)
    assert {key.name for key in operator.queue._waiting} == {"a", "b"}


@pytest.mark.parametrize("count", [10, 1000])
async def test_an_ingress_has_only_the_jobs_looked_at_that_may_claim_its_hosts(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever changes Ingresses all the time must not cost more where there are more jobs."""
    scene = Scene()
    operator = Operator(scene.context)
    for number in range(count):
        job = build_job(f"job-{number}", expose={"host": "shop.jobs.test"} if number == 7 else {})
        job["metadata"] |= {"uid": f"u{number}", "resourceVersion": "1"}
        scene.context.cache.jobs.put(job)
    operator.queue._waiting.clear()
    find_class = Mock(side_effect=scene.context.classes.of)
    monkeypatch.setattr(scene.context.classes, "of", find_class)
    hosts = ("shop.jobs.test", "job-3-team-a.jobs.test", "*.jobs.test", "foreign.test")
    for host in hosts:
        meta = {"name": "x", "namespace": "team-evil", "creationTimestamp": "2026-01-01T00:00:00Z"}
        scene.show(kinds.INGRESS, {"metadata": meta, "spec": {"rules": [{"host": host}]}})
    assert {key.name for key in operator.queue._waiting} == {"job-3", "job-7"}
    assert find_class.call_count == 2


@pytest.mark.parametrize(
    ("kind", "meta", "expected"),
    [
        (kinds.NODE, {"name": "link-gpu", "labels": {labels.BACKEND: "link"}}, [Key(BACKEND, "", "link")]),
        (kinds.DEPLOYMENT, {"name": "vnode-link", "namespace": "nestor-system", "labels": {labels.BACKEND: "link"}},
         [Key(BACKEND, "", "link")]),
        (kinds.POD, {"name": "vnode-link-x", "namespace": "nestor-system", "labels": {labels.BACKEND: "link"}},
         [Key(BACKEND, "", "link")]),
        # Whoever may create pods can label them as he likes.
        (kinds.POD, {"name": "mine", "namespace": "team-a", "labels": {labels.BACKEND: "link"}}, []),
        (kinds.NAMESPACE, {"name": "team-a", "labels": {labels.BACKEND: "link"}}, []),
        (kinds.CERTIFICATE_REQUEST, {"name": "csr", "labels": {labels.BACKEND: "link"}}, [Key(REQUEST, "", "csr")]),
    ],
)  # fmt: skip
async def test_what_belongs_to_a_backend_has_it_looked_at(kind: Kind, meta: Object, expected: list[Key]) -> None:
    scene = Scene()
    operator = Operator(scene.context)
    scene.show(kind, {"metadata": meta})
    assert list(operator.queue._waiting) == expected


async def test_jobs_that_may_use_a_backend_hear_of_its_taints_and_of_nothing_else() -> None:
    scene = Scene()
    operator = Operator(scene.context)
    scene.set_class("Baseline", placement={"overflow": {"backends": [{"name": "link"}]}})
    scene.add_job()

    def change(name: str, *, is_gone: bool = False, **parts: Any) -> set[Kind]:
        """Who hears of it."""
        operator.queue._waiting.clear()
        item = {"metadata": {"name": name}, **parts}
        scene.hide(kinds.OVERFLOW_BACKEND, item) if is_gone else scene.change(kinds.OVERFLOW_BACKEND, item)
        return {key.kind for key in operator.queue._waiting}

    assert change("link", spec={}) == {BACKEND, JOB}
    assert change("link", spec={}, status={"nodes": []}) == {BACKEND}
    assert change("other", spec={}) == {BACKEND}
    assert change("link", spec={"node": {"taints": []}}) == {BACKEND, JOB}
    assert change("link", is_gone=True) == {BACKEND, JOB}
