"""One record, several runners: each goes on from the one before it, and none writes over the one after it."""

from typing import Any, cast

import pytest

from nestor.api.contracts.runner import RECORD_KEY, RECORD_NAME, RECORD_NAMESPACE, RECORD_OWNER_KEY
from nestor.api.objects import Object
from nestor.api.observed import RunStatus
from nestor.apps.runner.record import Record, Superseded
from nestor.apps.steps import state
from nestor.kube import Api, ApiError, Unreachable, kinds
from tests.fakes.api import MemoryApi
from tests.unit.apps.runner.test_run import FakeClock


def run(name: str) -> RunStatus:
    return RunStatus(hash=name)


def put(api: MemoryApi, **data: str) -> None:
    """As another writer."""
    api.put(kinds.CONFIG_MAP, {"metadata": {"name": RECORD_NAME, "namespace": RECORD_NAMESPACE}, "data": data})


def look(api: MemoryApi) -> str:
    found = api.look(kinds.CONFIG_MAP, RECORD_NAME, RECORD_NAMESPACE) or {}
    return state.read(found["data"][RECORD_KEY]).hash


def record_of(api: MemoryApi) -> Record:
    return Record(cast(Api, api), FakeClock())


@pytest.fixture
def api() -> MemoryApi:
    """The nested API server."""
    return MemoryApi()


@pytest.fixture
def record(api: MemoryApi) -> Record:
    return record_of(api)


async def test_what_is_saved_is_loaded(api: MemoryApi, record: Record) -> None:
    assert await record.load() is None
    await record.save(run("ours"))
    await record.save(run("ours"))
    assert await record_of(api).load() == run("ours")


async def test_an_outage_is_waited_out(api: MemoryApi, record: Record) -> None:
    failures: list[ApiError] = [Unreachable("refused"), Unreachable("refused")]
    api.refusal = lambda _, __: failures.pop() if failures else None
    await record.save(run("ours"))
    assert (look(api), failures) == ("ours", [])


@pytest.mark.parametrize("data", [{RECORD_KEY: state.write(run("ours"))}, {}, {RECORD_KEY: "no JSON"}])
async def test_a_record_that_nobody_signed_is_written_over(api: MemoryApi, record: Record, data: dict[str, str]) -> None:
    await record.save(run("ours"))
    put(api, **data)
    await record.save(run("ours"))
    assert look(api) == "ours"


async def test_who_comes_between_a_look_and_a_write_is_not_written_over(api: MemoryApi, record: Record) -> None:
    def come(_: str, body: Object) -> None:
        put(api, **cast(Any, body["data"] | {RECORD_OWNER_KEY: "another"}))

    api.refusal = come
    with pytest.raises(Superseded):
        await record.save(run("ours"))


async def test_of_two_runners_the_later_one_goes_on(api: MemoryApi, record: Record) -> None:
    await record.load()
    await record.save(run("ours"))
    successor = record_of(api)
    assert await successor.load() == run("ours")
    await record.save(run("ours"))
    await successor.save(run("ours"))
    for _ in range(2):
        with pytest.raises(Superseded, match="another runner has taken over"):
            await record.save(run("ours"))
    await successor.save(run("next"))
    assert look(api) == "next"
