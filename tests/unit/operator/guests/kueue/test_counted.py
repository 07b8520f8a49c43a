"""What a job's Workload allows it, and what becomes of it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Informer, NotFound, kinds
from nestor.kube.errors import ApiError, Forbidden
from nestor.operator.admission.identity import Denial, Refused, identify
from nestor.operator.admission.turn import find_reserved
from nestor.operator.guests.kueue import workload
from nestor.operator.guests.kueue.keeper import Kueue
from nestor.operator.guests.kueue.workload import trim_workload
from tests.unit.operator.builders import build_job
from tests.unit.operator.scene import Scene

Object = dict[str, Any]
THEN = "2026-01-01T00:00:00Z"
QUEUE = {labels.KUEUE_QUEUE: "batch"}
MACHINES = {
    "defaultMachine": "small",
    "machines": [
        {"name": "small", "quota": {"requests.cpu": "1", "requests.nvidia.com/gpu": "0"}},
        {"name": "big", "quota": {"requests.cpu": "64", "requests.nvidia.com/gpu": "8"}},
    ],
}
RESERVED = ("QuotaReserved",)
ADMITTED = (*RESERVED, "Admitted")
EVICTED = (*ADMITTED, "Evicted")


class World:
    """A class that has Kueue decide, jobs, and the Workloads that the operator knows."""

    def __init__(self, mode: str = "Require") -> None:
        self.scene = Scene()
        self.api = self.scene.api
        self.kueue = Kueue(self.scene.context)
        self.informer = Informer(cast(Api, self.api), kinds.WORKLOAD, trim=trim_workload)
        self.informer.synced.set()
        self.kueue._has_looked = True
        self.kueue.watch(self.informer)
        self.set_class(mode)

    def set_class(self, mode: str) -> None:
        self.scene.set_class("Privileged", queue={"kueue": mode}, placement=MACHINES)

    def put(self, name: str = "a", own: Object | None = None, status: Object | None = None, **spec: Any) -> Object:
        job = build_job(name, **spec)
        job["metadata"] |= {"uid": f"uid-{name}", "labels": QUEUE if own is None else own}
        return self.scene.change(kinds.NESTED_APP_JOB, job | {"status": status or {}})

    async def ask(self, job: Object) -> Object | str:
        """A pass over the job: what its quota is limited to, or why it waits."""
        self.look()
        known = identify(job, self.scene.context.classes.all(), "default")
        try:
            turn = await self.kueue.admit(known)
        except Refused as refused:
            turn = refused.denial
        self.look()
        if isinstance(turn, Denial):
            return turn.reason
        return find_reserved(known.policy, known.spec.machine, job["status"].get("reserved"), turn.granted) or {}

    def look(self) -> None:
        """Have the operator know of all Workloads."""
        there = {key[1:]: item for key, item in self.api.objects.items() if key[0] == "workloads"}
        for namespace, name in list(self.informer.store):
            if (namespace, name) not in there:
                self.informer._set((namespace, name), None)
        for key, item in there.items():
            self.informer._set(key, self.informer._complete(dict(item)))

    def say(self, name: str, *said: str) -> None:
        known = self.api.look(kinds.WORKLOAD, name, "team-a") or {}
        listed = [{"type": kind, "status": "True", "reason": "x", "message": "", "lastTransitionTime": THEN} for kind in said]
        self.api.put(kinds.WORKLOAD, known | {"status": {"conditions": listed}})
        self.look()

    def names(self) -> list[str]:
        return [key[2] for key in self.api.objects if key[0] == "workloads"]


def runs(name: str, **more: Any) -> Object:
    """The status of a job that runs by that Workload."""
    return {"timings": {"admitted": THEN}, "assigned": {"workload": name}} | more


SMALL = {"requests.cpu": "1", "requests.nvidia.com/gpu": "0"}
BIG = {"requests.cpu": "64", "requests.nvidia.com/gpu": "8"}


async def test_a_job_gets_what_kueue_has_counted() -> None:
    world = World()
    job = world.put(machine="big")
    assert await world.ask(job) == conditions.QUEUED
    (name,) = world.names()
    world.say(name, *ADMITTED)
    assert await world.ask(job) == BIG


async def test_a_job_that_changes_its_machine_before_it_runs_comes_anew() -> None:
    world = World()
    await world.ask(world.put(machine="small"))
    (name,) = world.names()
    world.say(name, *RESERVED)
    big = world.put(machine="big")
    assert await world.ask(big) == conditions.QUEUED
    assert world.names() == []
    assert await world.ask(big) == conditions.QUEUED
    world.say(name, *ADMITTED)
    assert await world.ask(big) == BIG


async def test_a_job_that_changes_its_machine_while_it_runs_has_what_was_counted() -> None:
    world = World()
    await world.ask(world.put(machine="small"))
    (name,) = world.names()
    world.say(name, *ADMITTED)
    assert await world.ask(world.put(machine="big", status=runs(name))) == SMALL


async def test_a_jobs_own_workload_is_no_other_because_a_label_names_it() -> None:
    world = World()
    await world.ask(world.put(machine="small"))
    (name,) = world.names()
    sly = world.put(own=QUEUE | {labels.KUEUE_WORKLOAD: name}, machine="big")
    assert await world.ask(sly) == conditions.QUEUED
    world.say(name, *ADMITTED)
    assert await world.ask(sly) == BIG, "it was changed before quota was reserved"


@pytest.mark.parametrize(("machine", "said"), [("small", SMALL), ("big", conditions.WORKLOAD_CONFLICT)])
async def test_a_workload_that_was_made_beforehand_must_ask_for_enough(machine: str, said: Object | str) -> None:
    """For example one whose job was deleted with `--cascade=orphan`."""
    world = World()
    await world.ask(world.put(machine="small"))
    (name,) = world.names()
    found = world.api.objects.pop(("workloads", "team-a", name))
    meta = {"name": "left", "namespace": "team-a"}
    world.api.put(kinds.WORKLOAD, {"metadata": meta, "spec": found["spec"]})
    world.say("left", *ADMITTED)
    heir = world.put("heir", QUEUE | {labels.KUEUE_WORKLOAD: "left"}, machine=machine)
    world.api.asked.clear()
    first = await world.ask(heir)
    assert (first if machine == "big" else await world.ask(heir)) == said


async def test_a_preempted_job_does_not_run_on_by_another_jobs_workload() -> None:
    world = World()
    rich, poor = world.put("rich", machine="big"), world.put("poor", machine="small")
    await world.ask(rich)
    await world.ask(poor)
    mine, others = (workload.find_name(job) for job in (rich, poor))
    world.say(mine, *EVICTED)
    world.say(others, *ADMITTED)
    sly = world.put("rich", {labels.KUEUE_WORKLOAD: others}, runs(mine), machine="big")
    assert await world.ask(sly) == conditions.QUEUED
    await world.kueue.follow(sly)
    assert others in world.names()
    kept = world.api.look(kinds.WORKLOAD, mine, "team-a")
    assert kept is None or not conditions.is_true(kept["status"]["conditions"], "QuotaReserved"), "its quota is given back"


async def test_a_job_that_asks_kueue_no_more_leaves_nothing_there() -> None:
    world = World("Allow")
    job = world.put()
    await world.ask(job)
    (name,) = world.names()
    world.say(name, *EVICTED)
    free = world.put(own={}, status={"timings": {"admitted": THEN}})
    assert await world.ask(free) == {}
    await world.kueue.follow(free)
    assert world.names() == []


async def test_a_priority_class_that_is_gone_concerns_only_who_still_waits() -> None:
    world = World()
    world.api.put(kinds.WORKLOAD_PRIORITY, {"metadata": {"name": "high"}, "value": 7})
    job = world.put(own=QUEUE | {labels.KUEUE_PRIORITY: "high"})
    await world.ask(job)
    (name,) = world.names()
    world.api.drop(kinds.WORKLOAD_PRIORITY, "high")
    assert await world.ask(job) == conditions.PRIORITY_NOT_FOUND
    world.say(name, *ADMITTED)
    world.api.asked.clear()
    assert await world.ask(job) == SMALL
    assert world.api.asked == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NotFound(404, "NotFound", "the server could not find the requested resource"), conditions.KUEUE_UNAVAILABLE),
        (ApiError(405, "MethodNotAllowed", "create not allowed while it is terminating"), conditions.KUEUE_UNAVAILABLE),
        (Forbidden(403, "Forbidden", "no"), conditions.PROVISIONING_FAILED),
    ],
)
async def test_what_the_api_server_refuses_stops_nothing_and_is_told(error: ApiError, reason: str) -> None:
    world = World()
    world.api.refusal = lambda verb, body: error
    job = world.put(status=runs("gone", queue={"since": THEN}))
    known = identify(job, world.scene.context.classes.all(), "default")
    with pytest.raises(Refused) as caught:
        await world.kueue.admit(known)
    assert caught.value.denial.reason == reason
    assert not caught.value.denial.is_held
    if reason == conditions.PROVISIONING_FAILED:
        assert caught.value.denial.queue == {"since": THEN}, "the time does not begin anew with each try"
