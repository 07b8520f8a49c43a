"""A process that is killed at each of its steps: before and after each write to the API server and each call of the backend.

The next process brings every pod to the same end: none is lost, none runs twice, and nothing is left at the backend.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from nestor.api.objects import Object, annotations_of
from nestor.kube import kinds
from nestor.overflow.vnode.pods import decide, entry, writer
from nestor.overflow.vnode.pods.orphans import OrphanFinder
from nestor.pods.providers.errors import NotYet
from tests.unit.overflow.vnode.world import NODE, SPACE, World, living

Moment = str
"""`before` or `after`."""


@pytest.fixture(autouse=True)
def more_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "REPEAT_SECONDS", 0.05)
    monkeypatch.setattr(entry, "_read_limit", lambda pod: 0.2 if annotations_of(pod) else None)


class Killer:
    """Kills the process at its n-th step; 0: never. `steps` counts them. Faults of the scenario stay."""

    def __init__(self, world: World, number: int = 0, moment: Moment = "before") -> None:
        self.steps: Counter[str] = Counter()
        self.killed = asyncio.Event()
        self._number, self._moment, self._is_armed = number, moment, True
        world.api.fault = lambda verb, what: self._look("before", f"{verb} {what}") if verb not in ("GET", "LIST") else None
        world.api.lost = lambda verb, what: self._look("after", f"{verb} {what}")
        self._fault, self._lost = world.backend.fault, world.backend.lost
        world.backend.fault = self._before
        world.backend.lost = self._after

    def disarm(self) -> None:
        self._is_armed = False

    def _before(self, call: str, pod: Object) -> Exception | None:
        self._look("before", call)
        return self._fault(call, pod)

    def _after(self, call: str, pod: Object) -> Exception | None:
        self._look("after", call)
        return self._lost(call, pod)

    def _look(self, moment: Moment, what: str) -> None:
        if not self._is_armed or what == "statuses":
            return
        if moment == self._moment:
            self.steps[what] += 1
            if self.steps.total() == self._number:
                self.killed.set()
        if self.killed.is_set():
            raise asyncio.CancelledError


async def runs_and_is_deleted(world: World) -> None:
    uid = world.bind("web")
    await world.until(lambda: uid in world.backend.pods)
    world.backend.run(uid)
    await world.phase("web", "Running")
    world.delete("web")
    await world.phase("web", None)


async def succeeds(world: World) -> None:
    uid = world.bind("web")
    await world.until(lambda: uid in world.backend.pods)
    world.backend.end(uid)
    await world.phase("web", "Succeeded")
    world.delete("web")
    await world.phase("web", None)


async def is_refused(world: World) -> None:
    world.bind("web", hostNetwork=True)
    assert (await world.phase("web", "Failed"))["reason"] == "BackendRefused"


async def is_taken_back(world: World) -> None:
    world.bind("web", seconds="1")
    assert (await world.phase("web", "Failed"))["reason"] == "BouncedBack"


async def is_lost(world: World) -> None:
    uid = await world.accept()
    world.backend.finish(uid)
    assert (await world.phase("web", "Failed"))["reason"] == "BackendLost"
    world.delete("web")
    await world.phase("web", None)


async def is_deleted_while_it_is_sent(world: World) -> None:
    uid = world.bind("web")
    await world.until(lambda: world.backend.count("create"))
    world.delete("web")
    await world.phase("web", None)
    assert world.backend.starts[uid] <= 1


async def is_deleted_by_force(world: World) -> None:
    """What nobody in the host cluster knows any more is found where the backend can list its pods."""
    uid = await world.accept()
    world.backend.run(uid)
    world.api.drop(kinds.POD, "web", SPACE)


async def fails_in_the_host(world: World) -> None:
    await world.run()
    world.edit("web", status={"phase": "Failed"})


Scenario = Callable[[World], Coroutine[Any, Any, None]]
SCENARIOS: list[Scenario] = [
    runs_and_is_deleted,
    succeeds,
    is_refused,
    is_taken_back,
    is_lost,
    is_deleted_while_it_is_sent,
    is_deleted_by_force,
    fails_in_the_host,
]


def lose_answers(world: World) -> None:
    left = {"create": 1, "delete": 1}

    def lose(call: str, _: Object) -> Exception | None:
        left[call] = left.get(call, 0) - 1
        return NotYet("the answer was lost") if left[call] >= 0 else None

    world.backend.lost = lose


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.__name__)
@pytest.mark.parametrize("prepare", [lambda _: None, lose_answers], ids=["", "with-lost-answers"])
async def test_it_may_be_killed_at_each_of_its_steps(
    scenario: Scenario, moment: Moment, prepare: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "LOST_SECONDS", 0.05)
    number = 1
    while await has_been_killed(scenario, number, moment, prepare):
        number += 1
    assert number > 3


async def play(world: World, scenario: Scenario) -> None:
    await scenario(world)
    await world.settle()


async def has_been_killed(scenario: Scenario, number: int, moment: Moment, prepare: Callable[[World], None]) -> bool:
    """Play the scenario with a process that is killed at that step, and see how it ends. False: it has no so many steps."""
    async with living() as world:
        prepare(world)
        killer = Killer(world, number, moment)
        playing = asyncio.create_task(play(world, scenario))
        dead = asyncio.create_task(killer.killed.wait())
        await asyncio.wait([playing, dead], return_when=asyncio.FIRST_COMPLETED)
        killer.disarm()
        if killer.killed.is_set():
            await world.stop()
            await world.start()
        await playing
        finder = OrphanFinder(world.backend, world.pods.registry, world.health, lambda: frozenset({NODE}))
        for _ in range(2):
            await finder.look()
        what = f"step {number} of {dict(killer.steps)}"
        await world.until(lambda: not any(is_active(pod) for pod in world.backend.pods.values()))
        await world.settle()
        assert set(world.backend.starts.values()) <= {1}, what
        if world.look("web") is None:
            await world.until(lambda: len(world.pods.registry) == 0)
        dead.cancel()
        return killer.killed.is_set()


def is_active(pod: Object) -> bool:
    """Whether it runs at the backend, or may run later."""
    return pod["status"]["phase"] not in ("Succeeded", "Failed")
