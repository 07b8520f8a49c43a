"""When Kueue has a say, what its job is told and may have by its Workload, and which of Kueue's versions is spoken."""

import asyncio
from typing import Any, cast

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Forbidden, Informer, NotFound, RetryLater, kinds
from nestor.operator.admission.identity import Denial, JobIdentity, Refused, identify
from nestor.operator.admission.turn import Turn, find_reserved
from nestor.operator.guests.kueue import workload
from nestor.operator.guests.kueue.keeper import NAME, Kueue, find_version, trim_definition
from nestor.operator.guests.kueue.workload import trim_workload
from tests.unit.operator.builders import build_job
from tests.unit.operator.scene import Scene

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

    def __init__(self, mode: str = "Require", *, is_installed: bool = True) -> None:
        self.scene = Scene()
        self.api = self.scene.api
        self.kueue = Kueue(self.scene.context)
        self.informer = Informer(cast(Api, self.api), kinds.WORKLOAD, trim=trim_workload)
        self.informer.synced.set()
        self.kueue._has_looked = True
        if is_installed:
            self.kueue.watch(self.informer)
        self.scene.set_class("Privileged", queue={"kueue": mode}, placement=MACHINES)

    def put(self, name: str = "a", own: Object | None = None, status: Object | None = None, **spec: Any) -> Object:
        job = build_job(name, **spec)
        job["metadata"] |= {"uid": f"uid-{name}", "labels": QUEUE if own is None else own}
        return self.scene.change(kinds.NESTED_APP_JOB, job | {"status": status or {}})

    def identify(self, job: Object) -> JobIdentity:
        return identify(job, self.scene.context.classes.all(), "default")

    async def take(self, job: Object) -> Turn | Denial:
        """A pass over the job."""
        self.look()
        try:
            return await self.kueue.admit(self.identify(job))
        except Refused as refused:
            return refused.denial
        finally:
            self.look()

    async def tell(self, job: Object) -> str:
        """What the job is told."""
        found = await self.take(job)
        return f"{found.reason}: {found.message}" if isinstance(found, Denial) else "; ".join(found.warnings) or NOTHING

    async def ask(self, job: Object) -> Object | str:
        """What its quota is limited to, or why it waits."""
        turn, known = await self.take(job), self.identify(job)
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


async def test_the_workload_is_made_once_and_admission_lets_the_job_run() -> None:
    world = World()
    world.scene.set_class("Baseline", queue={"kueue": "Require"})
    job = world.put()
    await world.ask(job)
    (name,) = world.names()
    world.api.asked.clear()
    assert await world.tell(job) == "Queued: it waits for Kueue in LocalQueue 'batch'"
    assert world.api.asked == []
    world.say(name, *ADMITTED)
    turn = await world.take(job)
    assert isinstance(turn, Turn)
    assert turn.app is not None
    assert turn.app.workload == name
    assert [item.partition(":")[0] for item in turn.warnings] == [
        "Kueue does not count the application's cpu",
        "Kueue does not count the application's memory",
    ]


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
    assert (world.api.look(kinds.WORKLOAD, name, "team-a") or {})["spec"]["priority"] == 7
    world.api.drop(kinds.WORKLOAD_PRIORITY, "high")
    said = "no WorkloadPriorityClass named 'high', as the label `kueue.x-k8s.io/priority-class` says"
    assert await world.tell(job) == f"PriorityNotFound: {said}"
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
    denial = await world.take(job)
    assert isinstance(denial, Denial)
    assert (denial.reason, denial.retry_seconds) == (reason, 10)
    assert not denial.is_held, "what runs goes on"
    if reason == conditions.PROVISIONING_FAILED:
        assert denial.message == "its Workload is refused: no"
        assert denial.queue == {"since": THEN}, "the time does not begin anew with each try"


RUNS: Object = {"timings": {"admitted": "2026-01-01T00:00:00Z"}}
NOTHING = "nothing: it may run"


UNLABELED = (
    "QueueNameMissing: class 'default' starts only jobs with the label `kueue.x-k8s.io/queue-name`, which names a LocalQueue"
)


@pytest.mark.parametrize(
    ("mode", "own", "status", "told"),
    [
        ("Ignore", {}, {}, NOTHING),
        ("Ignore", QUEUE, {}, "the label `kueue.x-k8s.io/queue-name` has no effect: class 'default' does not set `queue.kueue`"),
        ("Allow", {}, {}, NOTHING),
        ("Allow", QUEUE, {}, "Queued: it waits for Kueue in LocalQueue 'batch'"),
        ("Require", {}, {}, UNLABELED),
        ("Require", QUEUE, {}, "Queued: it waits for Kueue in LocalQueue 'batch'"),
        # It ran when its class began to ask Kueue.
        ("Require", {}, RUNS, NOTHING),
        ("Require", QUEUE, RUNS, NOTHING),
        # What Kueue has admitted cannot leave its queue.
        ("Allow", {}, RUNS | {"assigned": {"workload": "w"}},
         "Queued: it needs the label `kueue.x-k8s.io/queue-name` to run again"),
    ],
)  # fmt: skip
async def test_class_and_label_say_together_who_asks_kueue(mode: str, own: Object, status: Object, told: str) -> None:
    world = World(mode)
    assert await world.tell(world.put(own=own, status=status)) == told


@pytest.mark.parametrize("mode", ["Allow", "Require"])
async def test_a_job_that_does_not_want_to_run_asks_for_nothing(mode: str) -> None:
    world = World(mode)
    for own in ({}, QUEUE):
        assert await world.tell(world.put(own=own, suspend=True)) == NOTHING
    assert not [item for item in world.api.asked if "workloads" in item]


async def test_where_kueue_is_not_there_its_jobs_wait_and_are_looked_at_again() -> None:
    world = World("Require", is_installed=False)
    job = world.put()
    denial = await world.take(job)
    assert isinstance(denial, Denial)
    assert (denial.reason, denial.retry_seconds) == (conditions.KUEUE_UNAVAILABLE, 10)
    assert denial.message.endswith("but Kueue is not enabled in the chart's values")
    world.kueue._has_looked = False
    with pytest.raises(RetryLater):
        await world.take(job)


@pytest.mark.parametrize(
    ("managed_by", "own", "mode", "is_made"),
    [
        (labels.MULTIKUEUE, QUEUE, "Require", True),
        (labels.MULTIKUEUE, QUEUE, "Allow", True),
        (labels.MULTIKUEUE, QUEUE, "Ignore", False),
        (labels.MULTIKUEUE, {}, "Require", False),
        ("example.com/other", QUEUE, "Require", False),
    ],
)
async def test_of_others_jobs_only_multikueues_get_a_workload(managed_by: str, own: Object, mode: str, is_made: bool) -> None:
    world = World(mode)
    job = world.put(own=own, managedBy=managed_by)
    await world.kueue.notice("team-a", job["metadata"]["name"], job)
    assert (world.api.look(kinds.WORKLOAD, workload.find_name(job), "team-a") is not None) is is_made
    assert not [item for item in world.api.asked if "nestedappjobs" in item], "its status is another's"


def define(*versions: str, served: bool = True, **meta: str) -> Object:
    """The definition of Workloads with these versions."""
    listed = [{"name": name, "served": served, "schema": {"large": True}} for name in versions]
    return {"metadata": {"name": NAME} | meta, "spec": {"versions": listed, "group": "kueue.x-k8s.io"}}


@pytest.mark.parametrize(
    ("found", "version"),
    [
        (None, None),
        (define("v1beta1"), "v1beta1"),
        (define("v1beta1", "v1beta2"), "v1beta2"),
        (define("v2"), None),
        (define("v1beta2", served=False), None),
        (define("v1beta2", deletionTimestamp="2026-01-01T00:00:00Z"), None),
    ],
)
def test_which_version_is_spoken(found: Object | None, version: str | None) -> None:
    kept = found and trim_definition(found)
    assert find_version(kept) == version
    assert "large" not in str(kept)


async def test_each_change_of_the_version_is_heard_and_what_used_the_old_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, log = Scene(), asyncio.Queue[str]()
    api, scene.context.settings = scene.api, scene.context.settings.model_copy(update={"kueue": True})

    async def use(version: str | None) -> None:
        log.put_nowait(f"{version} begins")
        try:
            await asyncio.Event().wait()
        finally:
            log.put_nowait(f"{version} ends")

    kueue = Kueue(scene.context)
    monkeypatch.setattr(kueue, "_use", use)
    task = asyncio.create_task(kueue.run())
    async with asyncio.timeout(10):
        assert await log.get() == "None begins"
        api.put(kinds.CRD, define("v1beta1"))
        assert [await log.get(), await log.get()] == ["None ends", "v1beta1 begins"]
        api.put(kinds.CRD, define("v1beta1", labels="new"))
        api.put(kinds.CRD, define("v1beta1", "v1beta2"))
        assert [await log.get(), await log.get()] == ["v1beta1 ends", "v1beta2 begins"]
        api.drop(kinds.CRD, NAME)
        assert [await log.get(), await log.get()] == ["v1beta2 ends", "None begins"]
    task.cancel()
