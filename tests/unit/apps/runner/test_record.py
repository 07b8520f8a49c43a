"""One record, several runners: each goes on from the one before it, and none writes over, or works beside, the one after it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from nestor.api.contracts.runner import RECORD_KEY, RECORD_OWNER_KEY
from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.command import Outcome
from nestor.apps.runner.record import POLL_SECONDS, Fence, Record, Superseded
from nestor.apps.steps import Run, Step
from nestor.kube import Api, Conflict, Unreachable
from tests.unit.apps.runner.test_run import FakeClock

Object = dict[str, Any]


class Store:
    """The nested API server, of which only the record's ConfigMap is known."""

    def __init__(self) -> None:
        self.content: str | None = None
        self.owner: str | None = None
        self.version = 0
        self.failures: list[Exception] = []

    def put(self, content: str | None, owner: str | None = None) -> None:
        """As another writer."""
        self.content, self.owner, self.version = content, owner, self.version + 1

    @property
    def hash(self) -> str:
        return Run.model_validate_json(self.content or "").hash

    async def find(self, *_: Any) -> Object | None:
        if self.content is None:
            return None
        if self.failures:
            raise self.failures.pop()
        data = {RECORD_KEY: self.content} | ({RECORD_OWNER_KEY: self.owner} if self.owner else {})
        return {"metadata": {"resourceVersion": str(self.version)}, "data": data}

    async def create(self, _: Any, body: Object) -> Object:
        if self.content is not None:
            raise Conflict(409, "AlreadyExists", "exists")
        return self._write(body)

    async def replace(self, _: Any, body: Object) -> Object:
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict(409, "Conflict", "changed")
        return self._write(body)

    def _write(self, body: Object) -> Object:
        if self.failures:
            raise self.failures.pop()
        self.put(body["data"][RECORD_KEY], body["data"][RECORD_OWNER_KEY])
        return {"metadata": {"resourceVersion": str(self.version)}}


def run(name: str) -> Run:
    return Run(hash=name, steps=())


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def record(store: Store) -> Record:
    return Record(cast(Api, store), FakeClock())


async def test_what_is_saved_is_loaded(store: Store, record: Record) -> None:
    assert await record.load() is None
    await record.save(run("ours"))
    await record.save(run("ours"))
    assert await Record(cast(Api, store), FakeClock()).load() == run("ours")


async def test_an_outage_is_waited_out(store: Store, record: Record) -> None:
    store.failures = [Unreachable("refused"), Unreachable("refused")]
    await record.save(run("ours"))
    assert store.hash == "ours"


@pytest.mark.parametrize("stored", ["ours", "earlier", None, "no JSON"])
async def test_a_change_by_nobody_after_us_is_written_over(store: Store, record: Record, stored: str | None) -> None:
    store.put(run("earlier").to_json())
    assert await record.load() == run("earlier")
    store.put(run(stored).to_json() if stored in ("ours", "earlier") else stored)
    await record.save(run("ours"))
    assert store.hash == "ours"


@pytest.mark.parametrize("has_earlier", [False, True])
async def test_a_successors_record_is_left_alone(store: Store, record: Record, has_earlier: bool) -> None:
    if has_earlier:
        store.put(run("earlier").to_json())
    await record.load()
    await record.save(run("ours"))
    store.put(run("next").to_json())
    with pytest.raises(Superseded, match="a runner with another plan has taken over"):
        await record.save(run("ours"))
    with pytest.raises(Superseded):
        await record.save(run("ours"))
    assert store.hash == "next"


async def test_of_two_runners_of_one_plan_the_later_one_goes_on(store: Store, record: Record) -> None:
    await record.load()
    await record.save(run("ours"))
    successor = Record(cast(Api, store), FakeClock())
    assert await successor.load() == run("ours")
    await record.save(run("ours"))
    await record.check()
    await successor.check()
    await successor.save(run("ours"))
    for _ in range(2):
        with pytest.raises(Superseded, match="another runner has taken over"):
            await record.save(run("ours"))
        with pytest.raises(Superseded, match="another runner has taken over"):
            await record.check()
    await successor.check()
    await successor.save(run("ours"))


@pytest.mark.parametrize("content", [None, "no JSON"])
async def test_a_record_that_nobody_signed_is_nobodys(store: Store, record: Record, content: str | None) -> None:
    await record.save(run("ours"))
    store.put(content)
    await record.check()
    await record.save(run("ours"))
    assert store.hash == "ours"


async def test_an_api_that_does_not_answer_says_nothing_about_successors(store: Store, record: Record) -> None:
    await record.save(run("ours"))
    store.put(run("ours").to_json(), "another")
    store.failures = [Unreachable("refused")]
    await record.check()
    with pytest.raises(Superseded):
        await record.check()


ATTEMPT = Attempt(Step(name="a", type="kubectl"), 1, lambda _: None)


class Stage:
    """An attempt that ends when it is told to, and a record that is asked about successors."""

    def __init__(self) -> None:
        self.asked = 0
        self.superseded_at: int | None = None
        self.may_end = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.was_ended = False

    async def check(self) -> None:
        self.asked += 1
        if self.asked == self.superseded_at:
            raise Superseded("gone")
        if self.asked == 5:
            self.may_end.set()
        await asyncio.sleep(0)

    async def execute(self, _: Attempt) -> Outcome:
        self.has_begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.was_ended = True
            raise
        return Outcome(0, "done")


async def test_an_attempt_goes_on_while_nobody_else_has_taken_over() -> None:
    stage, clock = Stage(), FakeClock()
    assert await Fence(stage.check, clock, stage.execute).execute(ATTEMPT) == Outcome(0, "done")
    assert clock.slept[:5] == [POLL_SECONDS] * 5
    assert not stage.was_ended


async def test_an_attempt_with_a_successor_is_ended_before_anything_else_happens() -> None:
    stage = Stage()
    stage.superseded_at = 3
    with pytest.raises(Superseded):
        await Fence(stage.check, FakeClock(), stage.execute).execute(ATTEMPT)
    assert stage.was_ended


async def test_an_attempt_that_is_stopped_is_ended_with_its_watch() -> None:
    stage = Stage()
    task = asyncio.create_task(Fence(stage.check, FakeClock(), stage.execute).execute(ATTEMPT))
    await stage.has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.was_ended
    assert len(asyncio.all_tasks()) == 1
