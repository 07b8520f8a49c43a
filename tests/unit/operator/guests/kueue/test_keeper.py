"""When Kueue has a say, and what its job is told where it has not or cannot."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import ApiError, Forbidden, Informer, RetryLater, kinds
from nestor.operator.admission.identity import Denial, Refused, identify
from nestor.operator.admission.turn import Turn
from nestor.operator.guests.kueue import workload
from nestor.operator.guests.kueue.keeper import Kueue
from tests.unit.operator.builders import build_job
from tests.unit.operator.scene import Scene

QUEUE = {labels.KUEUE_QUEUE: "batch"}
RUNS: Object = {"timings": {"admitted": "2026-01-01T00:00:00Z"}}
NOTHING = "nothing: it may run"


class World:
    """The jobs and Workloads of an operator."""

    def __init__(self, mode: str, *, is_installed: bool = True) -> None:
        self.scene = Scene()
        self.scene.set_class("Baseline", queue={"kueue": mode})
        self.kueue = Kueue(self.scene.context)
        synced = asyncio.Event()
        synced.set()
        self.workloads: dict[tuple[str, str], Object] = {}
        informer = SimpleNamespace(kind=kinds.WORKLOAD, synced=synced, get=lambda name, space: self.workloads.get((space, name)))
        self.kueue._has_looked = True
        self.kueue._informer = cast(Informer, informer) if is_installed else None

    def add(self, own: Object | None = None, status: Object | None = None, **spec: Any) -> Object:
        job = build_job(**spec)
        job["metadata"]["labels"] = own or {}
        return self.scene.change(kinds.NESTED_APP_JOB, job | {"status": status or {}})

    async def take(self, job: Object) -> Turn | Denial:
        """Raises `Refused`."""
        return await self.kueue.admit(identify(job, self.scene.context.classes.all()))

    async def ask(self, job: Object) -> str:
        try:
            found = await self.take(job)
        except Refused as refused:
            found = refused.denial
        return f"{found.reason}: {found.message}" if isinstance(found, Denial) else "; ".join(found.warnings) or NOTHING


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
    assert await world.ask(world.add(own, status)) == told


@pytest.mark.parametrize("mode", ["Allow", "Require"])
async def test_a_job_that_does_not_want_to_run_asks_for_nothing(mode: str) -> None:
    world = World(mode)
    for own in ({}, QUEUE):
        assert await world.ask(world.add(own, suspend=True)) == NOTHING
    assert not [item for item in world.scene.api.asked if "workloads" in item]


async def test_where_kueue_is_not_there_its_jobs_wait_and_are_looked_at_again() -> None:
    world = World("Require", is_installed=False)
    job = world.add(QUEUE)
    with pytest.raises(Refused) as refused:
        await world.take(job)
    assert refused.value.denial.reason == conditions.KUEUE_UNAVAILABLE
    assert refused.value.denial.message.endswith("but Kueue is not enabled in the chart's values")
    assert refused.value.denial.retry_seconds == 10
    world.kueue._has_looked = False
    with pytest.raises(RetryLater):
        await world.take(job)


async def test_the_workload_is_made_once_and_admission_lets_the_job_run() -> None:
    world = World("Require")
    job = world.add(QUEUE)
    await world.ask(job)
    name = workload.find_name(job)
    made = world.scene.api.look(kinds.WORKLOAD, name, "team-a")
    assert made is not None
    world.workloads["team-a", name] = made
    world.scene.api.asked.clear()
    assert await world.ask(job) == "Queued: it waits for Kueue in LocalQueue 'batch'"
    assert world.scene.api.asked == []
    said = [{"type": kind, "status": "True"} for kind in (workload.RESERVED, workload.ADMITTED)]
    world.workloads["team-a", name] = made | {"status": {"conditions": said}}
    turn = await world.take(job)
    assert isinstance(turn, Turn)
    assert turn.app is not None
    assert turn.app.workload == name
    assert [item.partition(":")[0] for item in turn.warnings] == [
        "Kueue does not count the application's cpu",
        "Kueue does not count the application's memory",
    ]


@pytest.mark.parametrize("is_found", [True, False])
async def test_a_priority_must_be_there(is_found: bool) -> None:
    world = World("Require")
    if is_found:
        world.scene.api.put(kinds.WORKLOAD_PRIORITY, {"metadata": {"name": "high"}, "value": 7})
    job = world.add(QUEUE | {labels.KUEUE_PRIORITY: "high"})
    said = await world.ask(job)
    if not is_found:
        message = "no WorkloadPriorityClass named 'high', as the label `kueue.x-k8s.io/priority-class` says"
        assert said == f"PriorityNotFound: {message}"
        return
    made = world.scene.api.look(kinds.WORKLOAD, workload.find_name(job), "team-a")
    assert made is not None
    assert made["spec"]["priority"] == 7


async def test_a_workload_that_is_refused_is_told_and_tried_again() -> None:
    world = World("Require")

    def refuse(verb: str, _: Object) -> ApiError | None:
        return Forbidden(403, "Forbidden", "exceeded quota: workloads") if verb == "APPLY" else None

    world.scene.api.refusal = refuse
    with pytest.raises(Refused) as refused:
        await world.take(world.add(QUEUE))
    assert (refused.value.denial.reason, refused.value.denial.message) == (
        conditions.PROVISIONING_FAILED,
        "its Workload is refused: exceeded quota: workloads",
    )
    assert refused.value.denial.retry_seconds == 10
    assert not refused.value.denial.is_held, "what runs goes on"


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
    job = world.add(own, managedBy=managed_by)
    await world.kueue.notice("team-a", job["metadata"]["name"], job)
    assert (world.scene.api.look(kinds.WORKLOAD, workload.find_name(job), "team-a") is not None) is is_made
    assert not [item for item in world.scene.api.asked if "nestedappjobs" in item], "its status is another's"
